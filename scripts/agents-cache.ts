/**
 * Other people's programs at the versions that we test with, in a folder of their own: together they weigh
 * more than this project.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export const cacheDir = process.env['TIELINE_AGENTS_CACHE'] ?? join(homedir(), '.cache', 'tieline-agents')

/**
 * The folder of the package, installed at first use. Its files are run with our own Node: some want a newer
 * one than the machine has.
 */
export function packageDir(name: string, version: string): string {
  const prefix = join(cacheDir, `${name.replaceAll(/[@/]+/g, '-').replace(/^-/, '')}-${version}`)
  const installed = join(prefix, 'node_modules', name)
  if (existsSync(join(installed, 'package.json')) && existsSync(join(prefix, 'complete'))) return installed
  console.log(`     installing ${name} ${version} into ${prefix}`)
  mkdirSync(prefix, { recursive: true })
  execFileSync(
    'npm',
    ['install', '--prefix', prefix, '--no-fund', '--no-audit', '--loglevel', 'error', `${name}@${version}`],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  mkdirSync(join(prefix, 'complete'))
  return installed
}
