/**
 * `npm run cluster`: a cluster of two nodes on this machine, with a PostgreSQL of its own, and the demo's work
 * across both: the coder runs on the node with its label. It ends with Ctrl-C, and leaves nothing behind; `--once`
 * ends after the work.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../bench/free-port.ts'
import { demoAgents, task } from '../src/cli/demo/agents.ts'
import { spec, specFile } from '../src/cli/demo/files.ts'
import { tielineClient, type TielineClient } from '../src/client/client.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import type { CallRecord } from '../src/wire/calls.ts'
import { startPostgres } from '../test/kits/postgres.ts'

const program = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))
const startMsMax = 90_000

const label = 'code'
const demo = demoAgents(process.stdout.isTTY ? 480 : 0)
const agents = { ...demo, coder: { ...demo['coder'], runsOn: label } }
/** Its test runs take a moment on a busy machine. */
const workMsMax = 120_000

type Started = { name: string; child: ChildProcess; url: string; client: TielineClient }

async function startNode(
  directory: string,
  database: string,
  name: string,
  labels: string[],
): Promise<Started> {
  const place = join(directory, name)
  mkdirSync(place)
  const config = join(place, 'tieline.json')
  const dataDir = join(place, 'data')
  writeFileSync(
    config,
    JSON.stringify({ store: { engine: 'postgres' }, node: { name, labels }, server: { dataDir }, agents }),
  )
  const port = await freePort()
  const child = spawn(process.execPath, [program, 'serve', '--config', config, '--port', String(port)], {
    env: { ...process.env, TIELINE_DATABASE_URL: database },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  const client = tielineClient({ url })
  const since = systemClock.elapsed()
  while (
    !(await client.health().then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || systemClock.elapsed() - since > startMsMax)
      throw new Error(`node ${name} did not start`)
    await systemClock.sleep(200)
  }
  return { name, child, url, client }
}

async function show(nodes: readonly Started[], directory: string): Promise<void> {
  const [first] = nodes as [Started, ...Started[]]
  for (const { name, url } of nodes) console.log(`node ${name}:  ${url}`)
  const cwd = join(directory, 'workspace')
  mkdirSync(cwd)
  writeFileSync(join(cwd, specFile), spec)
  console.log(`\nasked at ${first.name}:  ${task}`)
  const { sessionId } = await first.client.sessions.create({ cwd, agent: 'planner' })
  const { flow } = await first.client.sessions.send(sessionId, { message: task })
  await first.client.sessions.wait(sessionId, { timeoutMs: workMsMax })
  const { root, calls } = await first.client.flow(flow ?? '')
  const where = await findNodes(first.client, flow ?? '')
  const agentOf = new Map([[root.session as string, root.agent], ...calls.map(toAgent)])
  for (const [session, node] of where)
    console.log(`  ${(agentOf.get(session) ?? '').padEnd(9)} ran on ${node}`)
  console.log(`${root.outcome}:  ${root.output}`)
  if (root.outcome !== 'completed') process.exitCode = 1
}

const toAgent = ({ targetSession, target }: CallRecord): [string, string] => [targetSession ?? '', target]

/** On which node each session of a flow ran, in the order in which they started. */
async function findNodes(client: TielineClient, flow: string): Promise<Map<string, string>> {
  const names = new Map((await client.nodes()).map(({ id, name }) => [id, name]))
  const { events } = await client.flowEvents(flow)
  return new Map(
    events.flatMap(({ event }) =>
      event.type === 'turn.started' ? [[event.session, names.get(event.node) ?? event.node] as const] : [],
    ),
  )
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-two-'))
  const postgres = await startPostgres()
  if (postgres === null) throw new Error('PostgreSQL cannot be started on this machine')
  const nodes: Started[] = []
  try {
    nodes.push(await startNode(directory, postgres.url, 'a', []))
    nodes.push(await startNode(directory, postgres.url, 'b', [label]))
    await show(nodes, directory)
    if (process.argv.includes('--once')) return
    console.log('\nCtrl-C ends both nodes and the database.')
    await once(process, 'SIGINT')
  } finally {
    for (const { child } of nodes) {
      if (child.exitCode !== null) continue
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    }
    await postgres.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

await main()
