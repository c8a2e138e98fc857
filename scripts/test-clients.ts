/**
 * Five real clients with a scripted model: Claude Code, Codex, OpenCode, Copilot and Gemini, over the entries
 * that `tieline init` writes. Prints what each of them can do. Once they are installed, only loopback is used.
 * `node scripts/test-clients.ts codex gemini` runs some of them.
 */
import { checkProgram, columns, type Row } from './agents/matrix.ts'
import { agentPrograms } from './agents/programs.ts'
import { openWorld } from './agents/world.ts'

const chosen = process.argv.slice(2)

function printRow({ program, cells }: Row): number {
  const failed = columns.filter((name) => cells[name]?.passed !== true)
  for (const name of failed)
    console.log(`FAIL ${program.title} ${program.version}: ${name}: ${cells[name]?.text ?? 'not tried'}`)
  return failed.length
}

function renderMatrix(rows: readonly Row[]): string {
  const lines = [
    ['', ...columns],
    ...rows.map(({ program, cells }) => [
      `${program.title} ${program.version}`,
      ...columns.map((name) => (cells[name]?.passed === true ? cells[name].text : 'FAIL')),
    ]),
  ]
  const widths = ['', ...columns].map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  return lines.map((line) => line.map((text, at) => text.padEnd(widths[at] ?? 0)).join('  ')).join('\n')
}

async function main(): Promise<number> {
  const world = await openWorld()
  const beganAt = Date.now()
  const rows: Row[] = []
  try {
    for (const program of agentPrograms.filter(({ id }) => chosen.length === 0 || chosen.includes(id)))
      rows.push(await checkProgram(world, program))
  } finally {
    await world.close()
  }
  const failed = rows.map(printRow).reduce((sum, count) => sum + count, 0)
  console.log(renderMatrix(rows))
  const count = rows.length * columns.length
  console.log(
    `${count - failed} of ${count} checks of clients passed, in ${Math.round((Date.now() - beganAt) / 1000)} s`,
  )
  return failed === 0 ? 0 : 1
}

process.exitCode = await main()
