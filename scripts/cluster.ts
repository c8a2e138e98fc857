/**
 * `npm run cluster`: a cluster of two nodes on this machine, with a PostgreSQL of its own, and one request that
 * runs on both. It ends with Ctrl-C, and leaves nothing behind; `--once` ends after the request.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../bench/free-port.ts'
import { tielineClient, type TielineClient } from '../src/client/client.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import { startPostgres } from '../test/kits/postgres.ts'

const program = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))
const startMsMax = 90_000

const agents = {
  editor: {
    driver: 'scripted',
    description: 'asks the translator',
    tools: ['sub_agent'],
    allowSubAgentCalls: true,
    script: [
      {
        when: { iteration: 1 },
        tools: [
          { name: 'sub_agent', input: { agent_name: 'translator', task: 'Translate "good morning".' } },
        ],
      },
      { say: 'In French: {{result.output}}' },
    ],
  },
  translator: {
    driver: 'scripted',
    description: 'runs on the node that has its label',
    runsOn: 'french',
    script: [{ say: 'bonjour' }],
  },
}

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

async function show(nodes: readonly Started[]): Promise<void> {
  const [first] = nodes as [Started, ...Started[]]
  const task = 'What is "good morning" in French?'
  const call = await first.client.calls.open({ agent: 'editor', task, allow_nested_calls: true })
  console.log(`\nasked at ${first.name}:  ${call.output}`)
  for (const { name, url } of nodes) console.log(`node ${name}:      ${url}`)
  // A node says what it is with its second heartbeat.
  let known = await first.client.nodes()
  for (; known.length < nodes.length; known = await first.client.nodes()) await systemClock.sleep(200)
  for (const { name, labels } of known)
    console.log(`${first.name} knows ${name}${labels.map((label) => `, with the label ${label}`).join('')}`)
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-two-'))
  const postgres = await startPostgres()
  if (postgres === null) throw new Error('PostgreSQL cannot be started on this machine')
  const nodes: Started[] = []
  try {
    nodes.push(await startNode(directory, postgres.url, 'a', []))
    nodes.push(await startNode(directory, postgres.url, 'b', ['french']))
    await show(nodes)
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
