/** `tieline up`: the agents of this machine, connected with each other. */
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { checkByStarting } from '../../adapters/acp/check.ts'
import { whyUnavailable, type Surroundings as Around, type Unavailable } from '../../adapters/acp/program.ts'
import type { Agent } from '../../model/agent.ts'
import { version } from '../../version.ts'
import { askLine } from '../chat/prompt.ts'
import { isYes } from '../chat/question.ts'
import { flagText, printJson, UsageError, type Command, type CommandInput } from '../command.ts'
import { refuseValue } from '../flags.ts'
import { chooseProcess, type OwnFiles, type Surroundings } from '../setup/init-entries.ts'
import { renderChanges, writeWhole, type Planned } from '../setup/init-plan.ts'
import { installAdapters, listAdapters, renderInstall, type WantedAdapter } from '../setup/up-adapters.ts'
import {
  describeAgent,
  describeFound,
  findAgents,
  planUp,
  presetNames,
  type FoundAgent,
} from '../setup/up-plan.ts'
import {
  keepRecord,
  listMissing,
  readRecord,
  recordFile,
  type UpRecord,
  type Written,
} from '../setup/written.ts'

export const here = ({ env }: CommandInput): Surroundings => ({ cwd: process.cwd(), home: homedir(), env })

const ownFiles = (): OwnFiles => {
  const script = process.argv[1] ?? ''
  return { node: process.execPath, script: existsSync(script) ? realpathSync(script) : script }
}

export const up: Command = {
  name: 'up',
  words: [],
  help: 'Connects the agents on this machine: they can call each other, in every project',
  flags: {
    only: {
      value: 'NAMES',
      help: `some of ${presetNames.join(', ')}, with commas; by default all that are found`,
    },
    'dry-run': { help: 'show what would be written, and write nothing' },
    yes: { help: 'do not ask' },
  },
  more: `
It looks for the programs on your PATH, shows everything that it would write and install, and asks once. Their
files keep everything else. Then it starts each of them, and says what it can do. "tieline down" takes it all
back.`,
  examples: ['tieline up', 'tieline up --dry-run', 'tieline up --only claude,codex --yes'],
  async run(input) {
    const at = here(input)
    const found = await findAgents(at, readOnly(input))
    if (found.length === 0)
      throw new UsageError(
        `none of ${presetNames.join(', ')} was found on your PATH. Install one of them first.`,
      )
    const { findPlace } = await import('../reach/place.ts')
    const { dataDir, config } = await findPlace(input, { userOnly: true })
    const planned = await planUp(found, at, chooseProcess(at, ownFiles()), {
      server: addressOf(config.server),
      dataDir,
    })
    const adapters = listAdapters(found, at, dataDir)
    const toWrite = planned.filter(({ state }) => state === 'write')
    const isJson = input.flags['json'] === true
    if (!isJson) input.out.write(renderPlan(planned, adapters))
    const isDry = input.flags['dry-run'] === true
    const hasWork = toWrite.length + adapters.length > 0
    const may = !isDry && hasWork && (input.flags['yes'] === true || (await askUser(input)))
    const failed = may ? await writeAll(input, at, toWrite, adapters) : []
    const around = { env: at.env, home: at.home, dataDir }
    const isUp = may || !hasWork
    // Some need half a minute for their first start.
    if (isUp && !isJson) input.err.write(`Starting ${found.map(({ preset }) => preset.name).join(', ')} …\n`)
    const missing = await Promise.all(
      found.map((one) => (isUp ? checkByStarting : whyNot)(describeAgent(one), around, version)),
    )
    const lines = found.map((one, n) => describeFound(one, missing[n] ?? null))
    if (isJson)
      printJson(input.out, {
        agents: found.map(({ preset, version, loggedIn }, n) => {
          const says = lines[n]
          return { name: preset.name, version, loggedIn, callable: isUp && missing[n] === null, says }
        }),
        files: planned.map(({ what, file, state, why }) => ({
          what,
          file,
          state,
          why,
          written: may && state === 'write',
        })),
        adapters: adapters.map(({ package: name, version, directory }) => ({ name, version, directory })),
        failed,
      })
    else {
      const outcome = may
        ? 'Written. Restart the programs to see the tools.'
        : hasWork
          ? 'Nothing was written.'
          : 'Nothing to change.'
      input.out.write(
        `${[...failed, outcome, ...lines, ...(isUp ? [nextStep(found, missing)] : [])].join('\n')}\n`,
      )
    }
    return (may || isDry || !hasWork) && failed.length === 0 ? 0 : 1
  },
}

const whyNot = async (agent: Agent, around: Around): Promise<Unavailable | null> =>
  whyUnavailable(agent, around)

/** Null where every start has another address. */
const addressOf = ({ host, port }: { host: string; port: number }): string | null =>
  port === 0
    ? null
    : `http://${/^(0\.0\.0\.0|::)$/.test(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${port}`

function renderPlan(planned: readonly Planned[], adapters: readonly WantedAdapter[]): string {
  const lines = planned.flatMap(({ what, file, why, state, before, after, note }) => [
    `${what}: ${file} (${why})`,
    ...(state === 'write' ? renderChanges(before, after).map((line) => `  ${line}`) : []),
    ...(state === 'write' && note !== null ? [`  ${note}`] : []),
  ])
  const installs = adapters.length === 0 ? [] : [`Adapters: ${renderInstall(adapters)}`]
  return `${[...lines, ...installs].join('\n')}\n`
}

/** Records each before it is done. What could not be installed is answered, and does not stop the rest. */
async function writeAll(
  { out, err, flags }: CommandInput,
  at: Surroundings,
  toWrite: readonly Planned[],
  adapters: readonly WantedAdapter[],
): Promise<string[]> {
  let record = readRecord(at)
  const keep = (changed: UpRecord): void => keepRecord(at, (record = changed))
  const forRecord = (): string[] =>
    record.written.length + record.adapters.length === 0 ? listMissing(recordFile(at)) : []
  for (const plan of toWrite) {
    keep({ ...record, written: [...record.written, ...listWritten(plan, forRecord())] })
    await writeWhole(plan.file, plan.after, plan.mode ?? null)
  }
  if (adapters.length === 0) return []
  for (const { of, package: name, directory } of adapters) {
    const folders = [...forRecord(), ...listMissing(join(directory, 'package.json'))]
    keep({ ...record, adapters: [...record.adapters, { of, package: name, directory, folders }] })
  }
  const names = adapters.map((adapter) => adapter.package).join(' and ')
  if (flags['json'] !== true) (out.isTTY === true ? out : err).write(`Installing ${names} …\n`)
  const problem = await installAdapters(adapters, at)
  return problem === null ? [] : [`${names} could not be installed: ${problem}`]
}

/** One for each that a file is written for. */
function listWritten({ of, file, before, after, parts, steps }: Planned, folders: string[]): Written[] {
  const all = steps ?? [{ of: of ?? '', after, parts }]
  return all.map((step, n) => ({
    ...step,
    file,
    before: n === 0 ? before : (all[n - 1]?.after ?? null),
    folders: n === 0 ? [...folders, ...listMissing(file)] : [],
  }))
}

/** What to try, with an agent that answers. */
function nextStep(found: readonly FoundAgent[], missing: readonly (Unavailable | null)[]): string {
  const one = found.find((_, n) => missing[n] === null)
  return one === undefined
    ? 'None of them can be called yet.'
    : `Try it: tieline call ${one.preset.name} "Review the last commit"`
}

export function readOnly({ flags }: CommandInput): string[] | null {
  const given = flagText(flags['only'])
  if (given === undefined) return null
  return given.split(',').map((name) => {
    const wanted = name.trim()
    if (!presetNames.some((known) => known === wanted))
      throw refuseValue('only', wanted, `one of ${presetNames.join(', ')}`)
    return wanted
  })
}

async function askUser({ in: from, out, signal }: CommandInput): Promise<boolean> {
  if (from?.isTTY !== true || out.isTTY !== true) return false
  const line = await askLine(from, out, 'Write this? [y/N] ', signal)
  return line !== null && line !== 'interrupted' && isYes(line.text)
}
