/**
 * What `tieline doctor` finds out about programs that a person has open: whether they hear of their mail. Where a
 * server runs, each way is tried: the hooks of Claude Code with a message of ours to ourselves, the daemon of Codex
 * with a question, OpenCode by the sessions that it has connected.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { claudeScriptFile } from '../../adapters/claude-code/hooks.ts'
import { describeError } from '../../client/tieline-error.ts'
import type { TielineClient } from '../../client/client.ts'
import { nameClientSession, nameInbox } from '../../model/client-address.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { version } from '../../version.ts'
import { claudeProgram } from '../../wire/hooks.ts'
import type { Finding } from '../commands/doctor.ts'
import type { Place } from '../reach/place.ts'
import type { RunningServer } from '../reach/reach.ts'
import { countNoun } from '../show/amounts.ts'
import { ok, problem, warning } from './doctor-agents.ts'
import { isInUse, mcpClients, type Surroundings } from './init-entries.ts'
import { findOpenCodeEntries } from './opencode-plugin.ts'
import { clientHooks, planHooks } from './up-hooks.ts'

type Running = RunningServer | null
const what = 'hooks'
const hookMsMax = 5000

export async function checkHooks(place: Place, running: Running, at: Surroundings): Promise<Finding[]> {
  const used = (id: string): boolean => mcpClients.some((client) => client.id === id && isInUse(client, at))
  return [
    ...(used('claude') ? [await checkClaude(place, running, at)] : []),
    ...(used('codex') ? [await checkCodex(place, at)] : []),
    ...(used('opencode') ? await checkOpenCode(running, at) : []),
  ]
}

async function checkClaude({ dataDir }: Place, running: Running, at: Surroundings): Promise<Finding> {
  const plans = clientHooks.flatMap((hooks) => planHooks(hooks, at, { server: null, dataDir }))
  const other = plans.find(({ state }) => state === 'other' || state === 'unclear')
  if (other !== undefined)
    return warning(what, `Claude Code: ${other.file} ${other.why}`, 'Run "tieline down", then "tieline up".')
  if (plans.some(({ state }) => state !== 'there'))
    return ok(what, 'Claude Code: does not hear of its mail by itself ("tieline up" adds hooks)')
  if (running === null)
    return ok(what, 'Claude Code: has our hooks; they are tried when a server runs ("tieline serve")')
  const { all } = await running.client.quiet.get()
  if (all !== null)
    return ok(what, 'Claude Code: has our hooks, which are quiet ("tieline quiet off" ends it)')
  return proveClaude(running.client, claudeScriptFile(dataDir), at).catch((error: unknown) =>
    problem(what, `Claude Code: its hook failed: ${describeError(error)}`, 'Run "tieline up" again.'),
  )
}

/** A session that is only ours, in a directory that is only ours, hears of a message and is put away again. */
async function proveClaude(client: TielineClient, script: string, at: Surroundings): Promise<Finding> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-doctor-')))
  const own = `doctor-${process.pid}`
  const program = { name: claudeProgram, session: own, cwd: directory }
  const session = nameClientSession(program)
  const tell = (event: string): Promise<string> => runHook(script, event, own, directory, at)
  try {
    const beganAt = systemClock.elapsed()
    await tell('SessionStart')
    const ms = Math.round(systemClock.elapsed() - beganAt)
    const { id } = await client.mail.send({ session, message: 'A message of "tieline doctor" to itself.' })
    const said = await tell('PostToolUse')
    await client.mail.decline(id)
    await tell('SessionEnd')
    return said.includes(id)
      ? ok(
          what,
          `Claude Code: a session was registered and told of a message to itself, ${ms} ms for each hook`,
        )
      : warning(
          what,
          'Claude Code: its hook answers, and tells nothing of mail',
          'Look at default in [wake]: "hold" tells nothing.',
        )
  } finally {
    for (const one of [session, nameInbox(program, directory)])
      await client.sessions.archive(one).catch(() => undefined)
    rmSync(directory, { recursive: true, force: true })
  }
}

/** As Claude Code runs it. */
const runHook = (script: string, event: string, session: string, cwd: string, at: Surroundings) =>
  new Promise<string>((resolve, reject) => {
    const env = { PATH: at.env['PATH'] ?? '', CLAUDE_CODE_SESSION_ID: session }
    const child = execFile(script, ['tell', event], { cwd, env, timeout: hookMsMax }, (error, out) =>
      error === null ? resolve(out) : reject(error),
    )
    child.stdin?.end(JSON.stringify({ session_id: session, cwd, hook_event_name: event }))
  })

/** Its terminals share a daemon; without one of them open there is nothing to ask. */
async function checkCodex({ config }: Place, at: Surroundings): Promise<Finding> {
  if (!config.wake.codex || process.getuid === undefined)
    return ok(what, 'Codex: hears of its mail with its next tool result (codex = false in [wake])')
  const { connectCodex, findCodexSocket } = await import('../../adapters/codex/rpc.ts')
  const path = await findCodexSocket(at.env['CODEX_HOME'] || join(homedir(), '.codex'), process.getuid())
  if (path === null) return ok(what, 'Codex: has no terminal open now; what it opens is found by the server')
  try {
    const rpc = await connectCodex(
      path,
      (ms, until) => systemClock.sleep(ms, until),
      () => undefined,
    )
    await rpc.ask('initialize', { clientInfo: { name: 'tieline-doctor', title: 'Tieline', version } })
    rpc.notify('initialized')
    const loaded = await rpc.ask('thread/loaded/list', {})
    rpc.close()
    const threads = Array.isArray((loaded as { data?: unknown }).data)
      ? (loaded as { data: [] }).data.length
      : 0
    return ok(what, `Codex: its daemon answers and has ${countNoun(threads, 'thread')} open`)
  } catch (error) {
    return warning(what, `Codex: its daemon does not answer: ${describeError(error)}`, 'Start Codex again.')
  }
}

async function checkOpenCode(running: Running, at: Surroundings): Promise<Finding[]> {
  const { plugin } = await findOpenCodeEntries(at)
  if (plugin.length === 0) return []
  if (running === null)
    return [ok(what, 'OpenCode: has our plugin; its sessions are here while a server runs')]
  const { sessions } = await running.client.sessions.list({ agent: 'opencode', limit: 200 })
  const connected = sessions.filter(({ wakeable }) => wakeable).length
  return [ok(what, `OpenCode: has our plugin, with ${countNoun(connected, 'session')} connected now`)]
}
