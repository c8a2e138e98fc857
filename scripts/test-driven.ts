/**
 * `npm run test:agents`, the part of driven agents: the five real programs as callees, offline, with a scripted
 * model. Each is called by a client, calls back into Tieline at depth 2, is asked about a permission, is kept to a
 * deadline with what it had said, and is called by the next one. After every case no process of theirs is left.
 * `--all` tries every pair, and prints the table; `--only claude,codex` tries some.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRefusal } from '../src/model/refusal.ts'
import { openServer, type OpenServer } from '../src/open-server.ts'
import { fakeModel, type FakeModel } from '../test/kits/fake-model.ts'
import { cleanEnv } from './agents/process.ts'
import { agentPrograms, type AgentProgram } from './agents/programs.ts'

type World = { served: OpenServer; fake: FakeModel; home: string; directory: string }
type Result = {
  outcome: string | null
  output: string
  errors: string[]
  call_id: string
  tokens_used: number
}
type Case = { name: string; run: (world: World, program: AgentProgram) => Promise<string> }

const flags = process.argv.slice(2)
const only = flags
  .find((flag) => flag.startsWith('--only='))
  ?.slice('--only='.length)
  .split(',')
const programs = agentPrograms.filter(({ id }) => only === undefined || only.includes(id))

async function openWorld(): Promise<World> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-five-')))
  const directory = join(home, 'project')
  mkdirSync(directory)
  const fake = await fakeModel([{ when: { system: /title generator/i }, text: 'A title' }, { text: 'ok' }], {
    toolRoundsMax: 100,
  })
  const place = { home, model: fake.url }
  for (const program of programs) program.prepare(place)
  const command = (program: AgentProgram): string[] => {
    const { command: file, args } = program.acp()
    const env = { ...cleanEnv(place), ...program.env(place) }
    return ['/usr/bin/env', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), file, ...args]
  }
  const served = await openServer({
    dataDir: join(home, 'data'),
    port: 0,
    cwd: directory,
    asks: true,
    onWarning: () => undefined,
    agents: {
      coder: { description: 'knows the word', script: [{ say: 'The word is tangerine.' }] },
      sleeper: { description: 'never answers', script: [{ hang: true }] },
      ...Object.fromEntries(
        programs.map((program) => [
          program.id,
          {
            driver: 'acp' as const,
            preset: program.id,
            command: command(program),
            // The scripted model is on this machine, which no sandbox reaches.
            sandbox: 'off' as const,
            billing: 'key' as const,
            allowSubAgentCalls: true,
          },
        ]),
      ),
    },
  })
  return { served, fake, home, directory }
}

let prompts = 0
/** A sentence that no other prompt has, so that the model's rules find it. */
const nextPrompt = (): string => `Do the work number ${(prompts += 1)} now.`

type Round = { tool: string; input: object }
/** The model of this program uses these tools when it is asked this, then says `end`. */
function script({ fake }: World, program: AgentProgram, prompt: string, rounds: Round[], end: string): void {
  const tools = rounds.map(({ tool, input }, results) => ({
    when: { user: prompt, results },
    text: `working on ${prompt}`,
    tools: [{ ...program.nameTool(tool), input }],
  }))
  fake.rules.splice(1, 0, ...tools, { when: { user: prompt, results: rounds.length }, text: end })
}

async function call({ served }: World, agent: string, task: string, more: object = {}): Promise<Result> {
  const answer = await served.line.calls.open({ agent, task, allow_nested_calls: true, ...more })
  if (isRefusal(answer)) throw new Error(JSON.stringify(answer))
  return answer as unknown as Result
}

function expectThat(holds: boolean, what: string, got: unknown): void {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(got).slice(0, 1500)}`)
}

const answers: Case = {
  name: 'answers as a callee',
  async run(world, program) {
    const prompt = nextPrompt()
    script(world, program, prompt, [], 'I have done it.')
    const answer = await call(world, program.id, prompt)
    expectThat(
      answer.outcome === 'completed' && answer.output.includes('I have done it'),
      'no answer',
      answer,
    )
    return `${answer.tokens_used} tokens`
  },
}

/** Whoever calls whom: through Tieline, in the caller's own turn, at depth 2. */
async function callOn(world: World, program: AgentProgram, target: string, end: string): Promise<Result> {
  const prompt = nextPrompt()
  const input = { agent_name: target, task: `${prompt.replace('Do', 'Please do')} As ${target}.` }
  const other = programs.find(({ id }) => id === target)
  if (other !== undefined) script(world, other, input.task, [], end)
  script(world, program, prompt, [{ tool: 'sub_agent', input }], `It said it.`)
  const answering = call(world, program.id, prompt)
  const asked = allowAll(world, answering)
  const answer = await answering
  const asks = await asked
  const opened = (await readEvents(world, 'call.opened')).filter(
    (event) => (event['task'] as string).includes(input.task) && event['tool'] === 'sub_agent',
  )
  const depth = (opened.at(-1)?.['grant'] as { depth?: number } | undefined)?.depth
  expectThat(depth === 2, 'the call had no place in the tree', { answer, depth, asks })
  const results = world.fake.requests
    .filter(({ user }) => user.includes(prompt))
    .map((one) => JSON.stringify(one.body))
  expectThat(
    results.some((body) => body.includes(end)),
    'the answer did not come back',
    answer,
  )
  return answer
}

const callsBack: Case = {
  name: 'calls back into Tieline at depth 2',
  run: async (world, program) => (await callOn(world, program, 'coder', 'tangerine')).outcome ?? '',
}

/** Answers what is asked until the call has ended; how often it was asked. */
async function allowAll({ served }: World, until: Promise<unknown>): Promise<number> {
  let [over, asks] = [false, 0]
  void until.finally(() => (over = true)).catch(() => undefined)
  while (!over) {
    const open = await served.line.questions.list()
    for (const { id } of isRefusal(open) ? [] : open.questions) {
      await served.line.questions.answer(id, 'allow')
      asks += 1
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return asks
}

/** OpenCode takes long to start on a busy machine. */
const findDeadline = (id: string): number => (id === 'opencode' ? 45 : 20)

const keepsDeadline: Case = {
  name: 'a deadline is kept with what it had said, and its callee ends too',
  async run(world, program) {
    const prompt = nextPrompt()
    const input = { agent_name: 'sleeper', task: `sleep ${prompt}` }
    script(world, program, prompt, [{ tool: 'sub_agent', input }], 'never')
    // Its callee ends a little before it, and then its model says nothing any more.
    world.fake.rules.splice(1, 0, { when: { user: prompt, results: 1 }, hang: 'before' as const })
    const beganAt = Date.now()
    const deadlineSeconds = findDeadline(program.id)
    const answering = call(world, program.id, prompt, { timeout_seconds: deadlineSeconds })
    void allowAll(world, answering)
    const answer = await answering
    expectThat(answer.outcome === 'timed_out', 'it did not time out', answer)
    expectThat(answer.output.includes('working on'), 'what it had said is not there', answer)
    const over = Date.now() - beganAt - deadlineSeconds * 1000
    expectThat(over < 3000, 'it came too late', over)
    const ended = (await readEvents(world, 'call.ended')).slice(-2).map((event) => event['outcome'])
    expectThat(
      ended.every((outcome) => outcome === 'timed_out' || outcome === 'cancelled'),
      'open calls',
      ended,
    )
    return `${over} ms after it`
  },
}

async function readEvents({ served }: World, type: string): Promise<Record<string, unknown>[]> {
  const { text } = await served.line.log.export(null)
  return text
    .split('\n')
    .filter((line) => line.includes(`"${type}"`))
    .flatMap((line) => findEvents(JSON.parse(line) as unknown))
    .filter((event) => event['type'] === type)
}

function findEvents(row: unknown): Record<string, unknown>[] {
  if (Array.isArray(row)) return row.flatMap(findEvents)
  if (row === null || typeof row !== 'object') return []
  return 'type' in row && 'session' in row
    ? [row as Record<string, unknown>]
    : Object.values(row).flatMap(findEvents)
}

/** Processes with this home in their environment; the daemons that vendors leave on purpose are theirs. */
function processesOf(home: string): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      try {
        const [status = '', environment = '', line = ''] = ['status', 'environ', 'cmdline'].map((file) =>
          readFileSync(`/proc/${pid}/${file}`, 'latin1'),
        )
        return environment.includes(`HOME=${home}`) && !status.includes('State:\tZ')
          ? [`${pid} ${line.replaceAll('\0', ' ').slice(0, 100)}`]
          : []
      } catch {
        // It ended meanwhile.
        return []
      }
    })
}

async function nobodyLeft({ home }: World): Promise<void> {
  const end = Date.now() + 10_000
  while (processesOf(home).length > 0 && Date.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 200))
  expectThat(processesOf(home).length === 0, 'processes are left', processesOf(home))
}

async function tryCase(world: World, name: string, run: () => Promise<string>): Promise<boolean> {
  const beganAt = Date.now()
  try {
    const said = await run()
    await nobodyLeft(world)
    console.log(`  ok ${name} (${said}, ${((Date.now() - beganAt) / 1000).toFixed(1)} s)`)
    return true
  } catch (error) {
    console.log(`FAIL ${name}\n     ${error instanceof Error ? error.message : String(error)}`)
    return false
  }
}

const world = await openWorld()
let failed = 0
for (const program of programs)
  for (const { name, run } of [answers, callsBack, keepsDeadline])
    if (!(await tryCase(world, `${program.id}: ${name}`, () => run(world, program)))) failed += 1
const pairs = programs.flatMap((caller, at) =>
  flags.includes('--all')
    ? programs.map((callee) => [caller, callee] as const)
    : [[caller, programs[(at + 1) % programs.length] ?? caller] as const],
)
const table = new Map<string, string>()
for (const [caller, callee] of pairs) {
  // An agent cannot call itself while it waits: that is refused, and the table says so.
  if (caller === callee) {
    table.set(`${caller.id}>${callee.id}`, 'itself')
    continue
  }
  const ok = await tryCase(
    world,
    `${caller.id} calls ${callee.id}`,
    async () => (await callOn(world, caller, callee.id, `Done by ${callee.id}.`)).outcome ?? '',
  )
  if (!ok) failed += 1
  table.set(`${caller.id}>${callee.id}`, ok ? 'ok' : 'FAIL')
}
const width = 10
console.log(`\n${'calls'.padEnd(width)}${programs.map(({ id }) => id.padEnd(width)).join('')}`)
for (const caller of programs)
  console.log(
    caller.id.padEnd(width) +
      programs.map((callee) => (table.get(`${caller.id}>${callee.id}`) ?? '–').padEnd(width)).join(''),
  )
await world.served.close()
await world.fake.close()
rmSync(world.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
console.log(failed === 0 ? '\nall driven agents work' : `\n${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
