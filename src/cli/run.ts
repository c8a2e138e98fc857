/** `tieline run "<task>"`: gives an agent of the configuration a task, shows its calls while they happen, and prints its output. */
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { endWords } from './amounts.ts'
import { sharedFlags, UsageError, wantsColour, wantsLive, type Command, type CommandInput } from './command.ts'
import { callsOf } from './report.ts'
import { shown, watchRuns } from './watch.ts'

export const run: Command = {
  name: 'run',
  words: ['"<task>"'],
  help: 'Gives an agent a task; its calls are shown on stderr, its output is printed on stdout',
  flags: {
    agent: { value: 'NAME', help: 'which agent; otherwise the first one of the configuration' },
    config: { value: 'FILE', help: 'tieline.toml or tieline.json; otherwise the one in this directory, then the user\'s own' },
    cwd: { value: 'DIR', help: 'the directory to work in; otherwise this one' },
    'data-dir': { value: 'DIR', help: 'where the log is kept' },
    timeout: { value: 'SECONDS', help: 'when the run ends at the latest' },
    ...sharedFlags,
  },
  run: runTask,
}

async function runTask({ words: [task = ''], flags, env, out, err, signal }: CommandInput): Promise<number> {
  const timeoutMs = timeoutOf(flags['timeout'])
  const settings = await settingsOf(text(flags['config']), text(flags['data-dir']), env)
  const agent = text(flags['agent']) ?? settings.firstAgent
  const { tieline } = await import('../serve.ts')
  const warnings: string[] = []
  let warn = (warning: string): unknown => warnings.push(warning)
  await using line = await tieline({ config: settings.config, dataDir: settings.dataDir, onWarning: (warning) => warn(warning) })
  const silent = flags['quiet'] === true || flags['json'] === true
  const watch = watchRuns(line, silent ? null : err, { live: wantsLive(err, env), colour: wantsColour(err, env) })
  warn = (warning) => (silent ? err.write(`tieline: ${warning}\n`) : watch.note(`tieline: ${warning}`))
  warnings.forEach(warn)
  const result = await shown(watch, watch.follow(line.run(agent, task, { cwd: resolve(text(flags['cwd']) ?? '.'), ...(timeoutMs === null ? {} : { timeoutMs }) }), signal))
  await finishEarlier(line, err)
  if (flags['json'] === true) out.write(`${JSON.stringify({ ...result, calls: callsOf(watch.tree()) })}\n`)
  else if (result.output !== '') out.write(`${result.output}\n`)
  if (!result.success && flags['json'] !== true) err.write(`tieline: ${agent}: ${endWords(result.outcome, result.error)}\n`)
  return result.success ? 0 : 1
}

/** What an earlier process left was taken up again when the log was opened: to leave now would cut it off once more. */
async function finishEarlier(line: { running(): number; idle(): Promise<void> }, err: CommandInput['err']): Promise<void> {
  if (line.running() === 0) return
  err.write(`tieline: ${line.running()} earlier turns in this log go on; waiting for them to end (Ctrl-C leaves them as they are)\n`)
  await line.idle()
}

/** Which file, which directory for the log, and who is asked unless the user says so. */
async function settingsOf(file: string | undefined, dataDir: string | undefined, env: CommandInput['env']): Promise<{ config: string; dataDir: string; firstAgent: string }> {
  const { ConfigError, loadConfig } = await import('../config.ts')
  try {
    const found = await loadConfig({ file, cwd: process.cwd(), env, home: homedir() })
    if (found.file === null) throw new UsageError('there is no tieline.toml here: write one, name one with --config FILE, or see "tieline demo".')
    const [first] = found.config.agents
    if (first === undefined) throw new UsageError(`${found.file} has no agents: add a section [agents.NAME].`)
    return { config: found.file, dataDir: dataDir === undefined ? found.config.server.dataDir : resolve(dataDir), firstAgent: first.name }
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}

function timeoutOf(given: string | true | undefined): number | null {
  if (given === undefined) return null
  const seconds = Number(given)
  if (!(seconds > 0) || !Number.isFinite(seconds)) throw new UsageError(`--timeout: "${given}" was given, but a number of seconds above 0 is needed.`)
  return seconds * 1000
}

const text = (flag: string | true | undefined): string | undefined => (typeof flag === 'string' ? flag : undefined)
