/**
 * `npm run test:agents`, the part of driven agents: the five real programs as callees, offline, with a scripted
 * model. A model agent calls each; it asks a person for leave, calls back into Tieline, is kept to a deadline with
 * what it had said, survives a kill of the server with one outcome, and calls the next one, which is cancelled
 * too. After every case no process of theirs is left. `--all` tries every pair; `--only=claude,codex` some agents,
 * `--pairs=codex-claude,claude-gemini` nothing but who calls whom.
 */
import { callsOther, cancelsOther, drivenCases } from './agents/driven-cases.ts'
import { nobodyLeft, openLane, type Lane } from './agents/driven-lane.ts'
import { agentPrograms, type AgentProgram } from './agents/programs.ts'

const flags = process.argv.slice(2)
const readList = (name: string): string[] | undefined =>
  flags
    .find((flag) => flag.startsWith(`${name}=`))
    ?.slice(name.length + 1)
    .split(',')
const [only, pairs] = [readList('--only'), readList('--pairs')]
const programs = agentPrograms.filter(({ id }) => only === undefined || only.includes(id))
/** More than there are processors: agents wait most of their time. */
const lanesMax = Number(process.env['TIELINE_LANES'] ?? 3)
const slowestFirst = ['opencode', 'gemini', 'claude', 'copilot', 'codex']

/** By row and column; what failed stands there as FAIL. */
const cells = new Map<string, string>()
let failed = 0

async function tryCase(lane: Lane, row: string, column: string, run: () => Promise<string>): Promise<void> {
  const beganAt = Date.now()
  try {
    const said = await run()
    await nobodyLeft(lane)
    cells.set(`${row} ${column}`, said)
    console.log(`  ok ${row}: ${column} (${said}, ${((Date.now() - beganAt) / 1000).toFixed(1)} s)`)
  } catch (error) {
    failed += 1
    cells.set(`${row} ${column}`, 'FAIL')
    console.log(`FAIL ${row}: ${column}\n     ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** An agent cannot call itself while it waits: that is refused. */
function listCallees(program: AgentProgram): AgentProgram[] {
  const others = programs.filter((one) => one !== program)
  if (pairs !== undefined) return others.filter(({ id }) => pairs.includes(`${program.id}-${id}`))
  const next = programs[(programs.indexOf(program) + 1) % programs.length] ?? program
  return flags.includes('--all') ? others : others.filter((one) => one === next)
}

async function runLane(program: AgentProgram): Promise<void> {
  const lane = await openLane()
  try {
    for (const { column, run } of pairs === undefined ? drivenCases : [])
      await tryCase(lane, program.id, column, () => run(lane, program))
    for (const callee of listCallees(program))
      await tryCase(lane, program.id, `calls ${callee.id}`, async () => {
        await callsOther(lane, program, callee)
        await nobodyLeft(lane)
        return `ok, cancelled in ${await cancelsOther(lane, program, callee)}`
      })
  } finally {
    await lane.close()
  }
}

function renderTable(columns: readonly string[], cell: (row: string, column: string) => string): string {
  const lines = [
    ['', ...columns],
    ...programs.map(({ id }) => [id, ...columns.map((column) => cell(id, column))]),
  ]
  const widths = ['', ...columns].map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  return lines.map((line) => line.map((text, at) => text.padEnd(widths[at] ?? 0)).join('  ')).join('\n')
}

const beganAt = Date.now()
const waiting = programs.toSorted((a, b) => slowestFirst.indexOf(a.id) - slowestFirst.indexOf(b.id))
await Promise.all(
  Array.from({ length: lanesMax }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await runLane(next)
  }),
)
console.log('')
console.log(
  renderTable(
    drivenCases.map(({ column }) => column),
    (row, column) => cells.get(`${row} ${column}`) ?? '–',
  ),
)
console.log('\nwho calls whom, and is cancelled in the middle')
console.log(
  renderTable(
    programs.map(({ id }) => id),
    (row, column) => (row === column ? 'itself' : (cells.get(`${row} calls ${column}`) ?? '–')),
  ),
)
const seconds = Math.round((Date.now() - beganAt) / 1000)
console.log(
  failed === 0 ? `\nall driven agents work, in ${seconds} s` : `\n${failed} failed, in ${seconds} s`,
)
process.exitCode = failed === 0 ? 0 : 1
