/**
 * `tieline doctor`: looks at everything that a server needs, and says what to do about what is wrong. It
 * changes nothing.
 */
import { homedir } from 'node:os'
import { printJson, wantsColour, type Command, type CommandInput } from '../command.ts'
import { paint, segment, type Style } from '../show/segment.ts'

export type Finding = {
  what: string
  state: 'ok' | 'warning' | 'problem'
  says: string
  /** What to do, where something is wrong. */
  todo: string | null
}

export const doctor: Command = {
  name: 'doctor',
  words: [],
  help: 'Checks Node, the configuration, the log, the port, keys, agents and MCP clients, and says what to do',
  flags: {},
  without: { server: 'it looks at this machine' },
  more: [
    'The exit code is 1 if there is a problem; warnings are not. Of keys only the names are looked at.',
    '',
    'Examples:',
    '  tieline doctor',
    '  tieline doctor --config team.toml --json | jq \'.findings[] | select(.state != "ok")\'',
  ],
  async run(input: CommandInput): Promise<number> {
    const { findings } = await import('../setup/doctor-checks.ts')
    const found = await findings(input, { cwd: process.cwd(), home: homedir(), env: input.env })
    const healthy = found.every(({ state }) => state !== 'problem')
    const shown = input.flags['quiet'] === true ? found.filter(({ state }) => state !== 'ok') : found
    if (input.flags['json'] === true) printJson(input.out, { healthy, findings: found })
    else
      for (const line of findingLines(shown, wantsColour(input.out, input.env))) input.out.write(`${line}\n`)
    return healthy ? 0 : 1
  },
}

const styles: Readonly<Record<Finding['state'], Style>> = { ok: 'green', warning: 'yellow', problem: 'red' }

export function findingLines(found: readonly Finding[], colour: boolean): string[] {
  const [stateWidth, whatWidth] = [
    Math.max(0, ...found.map(({ state }) => state.length)),
    Math.max(0, ...found.map(({ what }) => what.length)),
  ]
  const indent = ' '.repeat(stateWidth + whatWidth + 4)
  return found.flatMap(({ what, state, says, todo }) => {
    const [first = '', ...more] = says.split('\n')
    return [
      `${paint(segment(state.padEnd(stateWidth), styles[state]), colour)}  ${paint(segment(what.padEnd(whatWidth), 'bold'), colour)}  ${first}`,
      ...more.map((line) => `${indent}${line}`),
      ...(todo === null ? [] : [`${indent}${paint(segment(`→ ${todo}`, styles[state]), colour)}`]),
    ]
  })
}
