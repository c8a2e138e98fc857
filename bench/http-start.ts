/** The time from starting the built program to its first answer, in new processes with new data. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Progress } from './progress.ts'
import { formatNumber, requireAtMost, type Part } from './report.ts'
import { median } from './round.ts'
import { connectClient } from './wire-client.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const rounds = 5
/** Against a bare Fastify server, and against Node itself. */
const [startRatioMax, helpRatioMax] = [1.3, 1.5]
const toolsMsMax = 250

const bareFastify = `
const { fastify } = await import('fastify')
const app = fastify()
app.get('/health', async () => ({ status: 'ok' }))
console.log(JSON.stringify({ url: await app.listen({ host: '127.0.0.1', port: 0 }) }))
process.on('SIGTERM', () => process.exit(0))`

/** Returns null, or why the build failed. Then the sources are measured, whose types are stripped at each start. */
export async function buildProgram(): Promise<string | null> {
  return promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: root, timeout: 120_000 }).then(
    () => null,
    (error: Error) => error.message.split('\n')[0] ?? '',
  )
}

/** From the spawn to the first 200 of /health. The first line of output has the address. */
export async function measureStartMs(args: readonly string[]): Promise<number> {
  const from = performance.now()
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let text = ''
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      text += chunk as string
      if (text.includes('\n')) break
    }
    const { url } = JSON.parse(text) as { url: string }
    const client = await connectClient(url)
    const { status } = await client.get('/health')
    const ms = performance.now() - from
    client.destroy()
    if (status !== 200) throw new Error(`/health answered ${status}`)
    return ms
  } finally {
    const exit = child.exitCode === null ? once(child, 'exit') : null
    child.kill('SIGTERM')
    await exit
  }
}

/**
 * From the spawn to the answer to `tools/list`, as a client asks that starts `tieline mcp` by itself. The
 * server that it starts meanwhile is used once, so that it is there to be stopped.
 */
async function measureToolsMs(program: string, data: string): Promise<number> {
  const from = performance.now()
  const child = spawn(process.execPath, [program, 'mcp', '--data-dir', data], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const say = (id: number, method: string, params: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
  let ms = Number.NaN
  try {
    const clientInfo = { name: 'bench', version: '1' }
    say(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
    say(2, 'tools/list', {})
    let text = ''
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      text += chunk as string
      if (Number.isNaN(ms) && text.includes('"tools":[{')) {
        ms = performance.now() - from
        say(3, 'tools/call', { name: 'list_agents', arguments: {} })
      }
      if (text.includes('"id":3')) return ms
    }
    throw new Error(`tieline mcp ended: ${text.slice(0, 300)}`)
  } finally {
    const exit = child.exitCode === null ? once(child, 'exit') : null
    child.stdin.end()
    await exit
    await measureEndMs([program, 'stop', '--data-dir', data])
  }
}

/** Until a process has ended by itself. */
async function measureEndMs(args: readonly string[]): Promise<number> {
  const from = performance.now()
  await promisify(execFile)(process.execPath, args, { cwd: root })
  return performance.now() - from
}

const rows = [
  ['tieline serve, new data directory', 'tieline'],
  ['tieline serve, the same again', 'again'],
  ['bare Fastify with one route', 'fastify'],
  ['tieline mcp, until its tools are listed, no server running', 'tools'],
  ['tieline --help, until it has ended', 'help'],
  ['node -e 0, until it has ended', 'node'],
] as const

export async function httpStart(progress: Progress): Promise<Part> {
  progress.part('http-start', 1 + rounds)
  const directory = mkdtempSync(join(tmpdir(), 'tieline-bench-start-'))
  const problem = await buildProgram()
  progress.step(problem === null ? 'built' : `not built: ${problem}`)
  const built = problem === null || existsSync(join(root, 'dist/server/index.js'))
  const program = built ? 'bin/tieline.js' : 'src/cli/main.ts'
  const taken: Record<string, number[]> = Object.fromEntries(rows.map(([, name]) => [name, []]))
  const take = (name: string, ms: number): void => void taken[name]?.push(ms)
  try {
    for (let round = 0; round < rounds; round += 1) {
      const serve = [program, 'serve', '--port', '0', '--json', '--data-dir', join(directory, String(round))]
      take('tieline', await measureStartMs(serve))
      take('again', await measureStartMs(serve))
      take('fastify', await measureStartMs(['--input-type=module', '-e', bareFastify]))
      take('tools', await measureToolsMs(program, join(directory, `mcp-${round}`)))
      take('help', await measureEndMs([program, '--help']))
      take('node', await measureEndMs(['-e', '0']))
      progress.step(`${formatNumber(taken['tieline']?.at(-1) ?? Number.NaN)} ms`)
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  const at = (name: string): number => median(taken[name] ?? [])
  const failure =
    problem === null ? [] : [`The build failed (${problem})${built ? ', so this is an earlier one' : ''}.`]
  return {
    name: 'http-start',
    notes: [[`Measured with ${program} and a warm file cache.`, ...failure].join(' ')],
    tables: [
      {
        title: `Start of the server until the first 200 of /health (median of ${rounds} fresh processes)`,
        columns: ['', 'ms'],
        rows: rows.map(([title, name]) => [title, formatNumber(at(name))]),
      },
    ],
    checks: [
      requireAtMost(
        'start of the server until /health answers, against bare Fastify',
        at('tieline') / at('fastify'),
        startRatioMax,
        '×',
      ),
      requireAtMost('tieline mcp until its tools are listed', at('tools'), toolsMsMax, ' ms'),
      requireAtMost('tieline --help against node -e 0', at('help') / at('node'), helpRatioMax, '×'),
    ],
  }
}
