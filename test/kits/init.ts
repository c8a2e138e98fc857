/** `tieline init` in a scratch project with a scratch home. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { CommandInput } from '../../src/cli/command.ts'
import { initIn } from '../../src/cli/commands/init.ts'
import type { Surroundings } from '../../src/cli/setup/init-entries.ts'

export const own = { node: '/opt/node', script: '/opt/tieline/bin/tieline.js' }

/** Replaced before each test. */
export const here = { root: '', at: { cwd: '', home: '', env: {} } as Surroundings, printed: '' }
beforeEach(async () => {
  const root = await mkdtemp(join(tmpdir(), 'tieline-init-'))
  const at = { cwd: join(root, 'project'), home: join(root, 'home'), env: {} }
  await Promise.all([mkdir(at.cwd), mkdir(at.home)])
  Object.assign(here, { root, at, printed: '' })
})
afterEach(() => rm(here.root, { recursive: true }))

const output = { write: (text: string) => ((here.printed += text), true), on: () => undefined }
export const run = (flags: CommandInput['flags'], more: Partial<CommandInput> = {}): Promise<number> =>
  initIn(
    {
      words: [],
      flags,
      env: here.at.env,
      out: output as unknown as CommandInput['out'],
      err: output as unknown as CommandInput['err'],
      signal: new AbortController().signal,
      ...more,
    },
    here.at,
    own,
  )

export async function put(file: string, text: string): Promise<string> {
  const path = join(here.root, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}
export const read = (file: string): Promise<string> => readFile(join(here.root, file), 'utf8')
export const readJson = async (file: string): Promise<unknown> => JSON.parse(await read(file))

/** How a client starts us here. */
export const stdio = { command: own.node, args: [own.script, 'mcp'] }
