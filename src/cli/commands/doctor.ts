/** `tieline doctor`: checks everything that a server needs, and says what to do. It changes nothing that you have. */
import { homedir } from 'node:os'
import { printResult, wantsColour, type Command, type CommandInput } from '../command.ts'
import { paint, segment, type Style } from '../show/segment.ts'

export type Finding = {
  what: string
  state: 'ok' | 'warning' | 'problem'
  says: string
  /** What to do about a warning or a problem. */
  todo: string | null
}

export const doctor: Command = {
  name: 'doctor',
  words: [],
  help: 'Checks Node, configuration, log, port, keys, agents, sandbox, MCP clients and hooks, and says what to do',
  flags: {},
  without: { server: 'it looks at this machine' },
  more: `
The exit code is 1 if there is a problem, but not for warnings. It looks at the names of keys, never at their
values. Where a server runs and Claude Code has our hooks, it sends a message to itself to try them.`,
  examples: [
    'tieline doctor',
    'tieline doctor --config team.toml --json | jq \'.findings[] | select(.state != "ok")\'',
  ],
  async run(input: CommandInput): Promise<number> {
    const { runChecks } = await import('../setup/doctor-checks.ts')
    const findings = await runChecks(input, { cwd: process.cwd(), home: homedir(), env: input.env })
    const healthy = findings.every(({ state }) => state !== 'problem')
    const colour = wantsColour(input.out, input.env)
    const [all, wrong] = [findings, findings.filter(({ state }) => state !== 'ok')].map((shown) =>
      renderFindings(shown, colour).join('\n'),
    )
    printResult(input, { healthy, findings }, all ?? '', wrong)
    return healthy ? 0 : 1
  },
}

const styles: Readonly<Record<Finding['state'], Style>> = { ok: 'green', warning: 'yellow', problem: 'red' }

export function renderFindings(findings: readonly Finding[], colour: boolean): string[] {
  const stateWidth = Math.max(0, ...findings.map(({ state }) => state.length))
  const whatWidth = Math.max(0, ...findings.map(({ what }) => what.length))
  const indent = ' '.repeat(stateWidth + whatWidth + 4)
  return findings.flatMap(({ what, state, says, todo }) => {
    const [first = '', ...more] = says.split('\n')
    const head = [segment(state.padEnd(stateWidth), styles[state]), segment(what.padEnd(whatWidth), 'bold')]
    return [
      [...head.map((part) => paint(part, colour)), first].join('  '),
      ...more.map((line) => `${indent}${line}`),
      ...(todo === null ? [] : [`${indent}${paint(segment(`→ ${todo}`, styles[state]), colour)}`]),
    ]
  })
}
