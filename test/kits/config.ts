/** A working directory and a home for a configuration, made for each test of the file that loads this. */
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect } from 'vitest'
import type { ConfigSource } from '../../src/config-file.ts'
import { ConfigError } from '../../src/config-path.ts'
import { loadConfig, type LoadedConfig } from '../../src/config.ts'
import { trustText } from './trust.ts'

export let root: string
export let cwd: string
export let home: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tieline-config-'))
  cwd = join(root, 'work')
  home = join(root, 'home')
  await Promise.all([
    mkdir(cwd),
    mkdir(join(home, '.config', 'tieline'), { recursive: true }),
    mkdir(join(root, 'xdg', 'tieline'), { recursive: true }),
  ])
})
afterEach(async () => rm(root, { recursive: true }))

export const load = (source: Partial<ConfigSource> = {}): Promise<LoadedConfig> =>
  loadConfig({ cwd, home, env: {}, ...source })

export async function loadText(
  text: string,
  source: Partial<ConfigSource> = {},
  name = 'tieline.toml',
): Promise<LoadedConfig> {
  await writeFile(join(cwd, name), text)
  trustText({ XDG_CONFIG_HOME: undefined, ...source.env }, source.home ?? home, join(cwd, name), text)
  return load(source)
}

export async function loadProblems(
  text: string,
  source: Partial<ConfigSource> = {},
  name = 'tieline.toml',
): Promise<string> {
  const error = await loadText(text, source, name).then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ConfigError)
  return (error as ConfigError).message
}
