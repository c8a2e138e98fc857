/** Checks that the simulator gives the same hash on another version of Node, installed in a temporary folder. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const other = '26'
const seeds = '100'
const main = fileURLToPath(new URL('../sim/main.ts', import.meta.url))

const runSimulation = (node: string): string => {
  const output = execFileSync(node, [main, '--seeds', seeds], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return /^hash\s+(\S+)$/m.exec(output)?.[1] ?? 'no hash'
}

const directory = mkdtempSync(join(tmpdir(), 'tieline-node-'))
try {
  writeFileSync(
    join(directory, 'package.json'),
    JSON.stringify({ private: true, allowScripts: { node: true } }),
  )
  execFileSync('npm', ['install', '--no-save', `node@${other}`], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const node = join(directory, 'node_modules', 'node', 'bin', 'node')
  const [here, there] = [runSimulation(process.execPath), runSimulation(node)]
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
  console.log(`${seeds} seeds: ${here} on ${process.version}, ${there} on ${version}`)
  if (here !== there || here === 'no hash') process.exitCode = 1
} finally {
  rmSync(directory, { recursive: true, force: true })
}
