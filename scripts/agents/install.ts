/** The programs that we test against, at fixed versions. They are cached outside the project for their size. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export const cacheDir = process.env['TIELINE_AGENTS_CACHE'] ?? join(homedir(), '.cache', 'tieline-agents')

/**
 * Installs a package on first use and returns its folder. Run its files with our own Node, since some need a
 * newer one than the machine has. Two that install at the same time don't disturb each other: what is whole
 * is put in place at once.
 */
export function installPackage(name: string, version: string): string {
  const prefix = join(cacheDir, `${name.replaceAll(/[@/]+/g, '-').replace(/^-/, '')}-${version}`)
  const installed = join(prefix, 'node_modules', name)
  if (existsSync(join(installed, 'package.json')) && existsSync(join(prefix, 'complete'))) return installed
  console.log(`     installing ${name} ${version} into ${prefix}`)
  const fresh = `${prefix}.${process.pid}`
  mkdirSync(join(fresh, 'complete'), { recursive: true })
  execFileSync(
    'npm',
    ['install', '--prefix', fresh, '--no-fund', '--no-audit', '--loglevel', 'error', `${name}@${version}`],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  try {
    if (!existsSync(join(prefix, 'complete'))) rmSync(prefix, { recursive: true, force: true })
    renameSync(fresh, prefix)
  } catch (error) {
    // Somebody else was faster.
    if (!existsSync(join(prefix, 'complete'))) throw error
    rmSync(fresh, { recursive: true, force: true })
  }
  return installed
}
