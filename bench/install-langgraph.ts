/**
 * LangGraph for `--all`, in a cache directory of the bench: it is no dependency of this package, and its saver wants
 * a native module, in whose place an empty one is put (see `contenders/langgraph.ts`).
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const versions = {
  '@langchain/core': '1.2.13',
  '@langchain/langgraph': '1.4.0',
  '@langchain/langgraph-checkpoint': '1.1.5',
  '@langchain/langgraph-checkpoint-sqlite': '1.0.4',
}
export const langgraphVersion = versions['@langchain/langgraph']

const key = Object.values(versions).join('-')
export const langgraphDirectory = fileURLToPath(
  new URL(`../node_modules/.cache/tieline-bench/langgraph-${key}`, import.meta.url),
)

/** Once; afterwards it is there. */
export function installLanggraph(): void {
  const done = join(langgraphDirectory, 'installed')
  if (existsSync(done)) return
  const binding = join(langgraphDirectory, 'no-binding')
  mkdirSync(binding, { recursive: true })
  writeFileSync(join(binding, 'package.json'), '{"name":"better-sqlite3","version":"12.10.0"}')
  writeFileSync(join(binding, 'index.js'), 'module.exports = class {}\n')
  const override = { 'better-sqlite3': 'file:./no-binding' }
  const dependencies = { ...versions, ...override, zod: '4' }
  writeFileSync(
    join(langgraphDirectory, 'package.json'),
    JSON.stringify({ private: true, dependencies, overrides: override }),
  )
  execFileSync('npm', ['install', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund'], {
    cwd: langgraphDirectory,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  writeFileSync(done, '')
}
