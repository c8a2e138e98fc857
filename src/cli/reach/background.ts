/** A server that a client starts for itself: it belongs to the user, and outlives the client. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { OpenServer } from '../../open-server.ts'
import { isPortFree } from './own-server.ts'
import type { Place } from './place.ts'

/** How long a server in the background stays when nobody uses it. */
export const idleMsMax = 30 * 60_000
const lookAgainMs = 15_000

/** Resolves when it was not used for that long: nobody asked, nobody is connected, and no turn runs. */
export async function untilIdle(
  { idleMs, line }: Pick<OpenServer, 'idleMs'> & { line: { running(): number } },
  signal: AbortSignal,
  { msMax = idleMsMax, clock = systemClock } = {},
): Promise<void> {
  let restsSince = clock.elapsed()
  for (; !signal.aborted; await clock.sleep(Math.min(lookAgainMs, msMax), signal).catch(() => undefined)) {
    if (line.running() > 0) restsSince = clock.elapsed()
    if (Math.min(idleMs(), clock.elapsed() - restsSince) >= msMax) return
  }
}

/** What a client tells its own children about itself, and would tell everything that the server starts. */
const ofClients =
  /^(?:CLAUDECODE$|CLAUDE_CODE_|CLAUDE_PROJECT_DIR$|COPILOT_AGENT_|CODEX_(?!HOME$)|GEMINI_CLI$|OPENCODE(?:$|_))/

/**
 * Through a process that ends at once: clients that end all their descendants do not find the server among
 * them. Returns its log file.
 */
export async function startInBackground({ dataDir, named, config }: Place): Promise<string> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, 'serve.log')
  const log = await open(path, 'a', 0o600)
  const args = [
    ...process.execArgv,
    process.argv[1] ?? '',
    'serve',
    '--background',
    '--quiet',
    '--data-dir',
    dataDir,
    ...(named === null ? [] : ['--config', named]),
    ...((await isPortFree(config.server)) ? [] : ['--port', '0']),
  ]
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofClients.test(name)))
  const child = spawn(process.execPath, ['-e', relaunch, '--', ...args], {
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    cwd: homedir(),
    env,
  })
  try {
    await once(child, 'exit')
  } finally {
    await log.close()
  }
  return path
}

const relaunch = `require('node:child_process').spawn(process.execPath, process.argv.slice(1), {
  detached: true, stdio: ['ignore', 'inherit', 'inherit'] }).unref()`
