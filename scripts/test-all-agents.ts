/**
 * `npm run test:agents`: everything with real programs, in two rows side by side, since most of their time is
 * waiting. What each script says is printed when it has ended. Flags go to the tests of driven agents.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { buildOnce } from './agents/process.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const flags = process.argv.slice(2)
/** Programs in terminals take minutes: only with `--all`. */
const open: readonly (readonly [script: string, ...args: string[]])[] = flags.includes('--all')
  ? [['test-wake.ts']]
  : []
/** The longest first. */
const rows: readonly (readonly (readonly [script: string, ...args: string[]])[])[] = [
  [['test-clients.ts'], ['test-agents.ts']],
  [['test-driven.ts'], ['test-opencode.ts'], ...open],
]

function run(script: string, args: readonly string[]): Promise<boolean> {
  const beganAt = Date.now()
  const child = spawn(process.execPath, [`scripts/${script}`, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TIELINE_BUILT: '1' },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  return new Promise((resolve) => {
    child.on('close', (code) => {
      const seconds = Math.round((Date.now() - beganAt) / 1000)
      console.log(
        `\n${script}, ${seconds} s${code === 0 ? '' : `, exit code ${code ?? 'none'}`}\n${said.trimEnd()}`,
      )
      resolve(code === 0)
    })
  })
}

// Once, before anything uses it.
buildOnce()
const passed = await Promise.all(
  rows.map(async (row) => {
    let all = true
    for (const [script, ...args] of row)
      all = (await run(script, script === 'test-driven.ts' ? flags : args)) && all
    return all
  }),
)
process.exitCode = passed.every(Boolean) ? 0 : 1
