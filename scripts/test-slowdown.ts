/**
 * How much our hooks slow `claude -p` down: alternating runs with and without them, against a server that runs, none
 * at all, one of another version, and one that hangs. `--runs 20` is how many of each; the middle one counts.
 * `codex exec` has no hooks of ours: there it is our MCP entry that is measured, and no limit is set for that.
 * `--only=codex` measures one of both.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { askProgram } from './agents/process.ts'
import { agentPrograms, type AgentProgram } from './agents/programs.ts'
import { openWorld, type World } from './agents/world.ts'

const at = process.argv.indexOf('--runs')
const runs = at === -1 ? 10 : Number(process.argv[at + 1])
const only = process.argv.find((flag) => flag.startsWith('--only='))?.slice(7)
const slowMsMax = 100
const hangMsMax = 1000

type Variant = { name: string; msMax: number; server: 'ours' | 'none' | 'other' | 'hangs'; hooks: boolean }
const variants: readonly Variant[] = [
  { name: 'without hooks', msMax: 0, server: 'none', hooks: false },
  { name: 'a server that runs', msMax: slowMsMax, server: 'ours', hooks: true },
  { name: 'no server', msMax: slowMsMax, server: 'none', hooks: true },
  { name: 'a server of another version', msMax: slowMsMax, server: 'other', hooks: true },
  { name: 'a server that hangs', msMax: hangMsMax, server: 'hangs', hooks: true },
]

/** Codex waits for the tools of an entry before it begins. Ours starts a server where none runs. */
const entries: readonly Variant[] = [
  { name: 'without our entry', msMax: 0, server: 'ours', hooks: false },
  { name: 'our entry, a server that runs', msMax: Infinity, server: 'ours', hooks: true },
  { name: 'our entry, no server', msMax: Infinity, server: 'none', hooks: true },
]

const find = (id: string): AgentProgram => {
  const found = agentPrograms.find((program) => program.id === id)
  if (found === undefined) throw new Error(id)
  return found
}
const claude = find('claude')
const codex = find('codex')

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Every other round backwards: none has always the same one before it, of which something may still be at work. */
const order = <T>(list: readonly T[], round: number): T[] => {
  const at = round % list.length
  const rotated = [...list.slice(at), ...list.slice(0, at)]
  return round % 2 === 0 ? rotated : rotated.toReversed()
}

const middle = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

/**
 * Each run is compared with the plain one of its round, so that a busy machine slows both. Every round begins with
 * another one, since what runs first finds the machine in another state.
 */
async function measure(
  world: World,
  program: AgentProgram,
  tried: readonly Variant[],
  set: (one: Variant) => void | Promise<void>,
): Promise<boolean> {
  const times = new Map<string, number[]>()
  for (let round = 0; round < runs; round += 1)
    for (const one of order(tried, round)) {
      await set(one)
      const { ms, code, err } = await askProgram(program, world, world.directory('slow'), 'hello').ended
      if (code !== 0) throw new Error(`${program.id}, ${one.name}: ${err}`)
      times.set(one.name, [...(times.get(one.name) ?? []), ms])
    }
  const plain = times.get(tried[0]?.name ?? '') ?? []
  let isGood = true
  for (const { name, msMax } of tried) {
    const own = times.get(name) ?? []
    const more = middle(own.map((ms, index) => ms - (plain[index] ?? 0)))
    const span = `${Math.min(...own)} to ${Math.max(...own)}`
    const fits = msMax === 0 || more <= msMax
    isGood &&= fits
    const bound = msMax === Infinity ? '' : ` of at most ${msMax}`
    const limit = msMax === 0 ? '' : `, ${more >= 0 ? '+' : ''}${more} ms${bound}`
    console.log(`${fits ? 'ok  ' : 'FAIL'} ${program.id}: ${name}: ${middle(own)} ms (${span})${limit}`)
  }
  return isGood
}

function setEntry(world: World): (one: Variant) => Promise<void> {
  const file = join(world.home, '.codex', 'config.toml')
  const [whole, plain] = [readFileSync(file, 'utf8'), join(world.home, 'plain')]
  codex.prepare({ ...world, home: plain })
  const without = readFileSync(join(plain, '.codex', 'config.toml'), 'utf8')
  return async ({ server, hooks }) => {
    writeFileSync(file, hooks ? whole : without)
    await (server === 'none'
      ? world.tieline('stop')
      : world.tieline('call', 'coder', 'Say it', '--background'))
  }
}

async function main(world: World): Promise<boolean> {
  await world.tieline('call', 'coder', 'Say it', '--background')
  const ours = world.server()?.url ?? ''
  const file = join(world.home, 'elsewhere', 'server.json')
  // Hooks look here, so that the server that is found can be changed without touching the one that runs.
  mkdirSync(join(world.home, 'elsewhere'))
  copyFileSync(
    join(world.home, '.local', 'share', 'tieline', 'token'),
    join(world.home, 'elsewhere', 'token'),
  )
  const other = createServer((_, response) => response.writeHead(404).end('{"error":{"code":"not_found"}}'))
  const hangs = createServer(() => undefined)
  const urls = { ours, none: null, other: await listen(other), hangs: await listen(hangs) }
  const settings = join(world.home, '.claude', 'settings.json')
  const written = claude.addHooks?.(world, join(world.home, 'elsewhere')) ?? {}
  const set = ({ server, hooks }: Variant): void => {
    writeFileSync(settings, JSON.stringify(hooks ? written : {}))
    const url = urls[server]
    if (url === null) rmSync(file, { force: true })
    // Whatever listens there belongs to a process that lives: what a dead one left behind is not asked.
    else writeFileSync(file, `${JSON.stringify({ url, pid: process.pid, auth: 'open' })}\n`)
  }
  try {
    let isGood = true
    if (only !== 'codex') isGood = await measure(world, claude, variants, set)
    if (only !== 'claude') isGood = (await measure(world, codex, entries, setEntry(world))) && isGood
    return isGood
  } finally {
    for (const server of [other, hangs]) {
      server.closeAllConnections()
      server.close()
    }
  }
}

const world = await openWorld(['claude', 'codex'])
try {
  process.exitCode = (await main(world)) ? 0 : 1
} finally {
  await world.close()
}
