/** What a server keeps in its data directory besides the log: its keys, and where it listens. */
import { createHash, randomBytes } from 'node:crypto'
import { chmod, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadedConfig } from './config.ts'
import { systemClock } from './runtime/kernel/system-clock.ts'
import { prepareDirectory } from './store/directory.ts'
import { readKept } from './trust/kept-file.ts'
import { restrict } from './trust/private-files.ts'
import { version } from './version.ts'

export type Keys = {
  token: string
  secret: Uint8Array
  /** As they are in their files. */
  known: string[]
}

/** The user's token, and the secret that signs the tokens of sessions. Only their owner can read them. */
export async function readKeys(dataDir: string, given: string | null): Promise<Keys> {
  prepareDirectory(dataDir)
  // The prefix makes the token known by its shape wherever it is read.
  const token =
    given ?? (await readOrMake(join(dataDir, 'token'), () => `tlu_${randomBytes(32).toString('base64url')}`))
  const seed = await readOrMake(join(dataDir, 'secret'), () => randomBytes(32).toString('base64url'))
  return { token, secret: createHash('sha256').update(seed).digest(), known: [token, seed] }
}

const keyBytesMax = 4096

async function readOrMake(file: string, make: () => string): Promise<string> {
  const known = await readKept(file, keyBytesMax).then(String, (fault: NodeJS.ErrnoException) => {
    // What is no file is not written to either: it could be a pipe that nobody reads.
    if (fault.code === undefined) throw fault
    return ''
  })
  if (known.trim() !== '') return known.trim()
  const made = make()
  await writeFile(file, `${made}\n`, { mode: 0o600 })
  await chmod(file, 0o600)
  return made
}

/** Lets others find the server of this directory: where it listens, and what it was configured with. */
export async function announce(
  dataDir: string,
  url: string,
  auth: 'tokens' | 'open',
  { file: config, digest }: LoadedConfig,
): Promise<() => Promise<void>> {
  const file = join(dataDir, 'server.json')
  await rm(`${file}.new`, { force: true })
  await writeFile(
    `${file}.new`,
    `${JSON.stringify({ url, auth, pid: process.pid, version, startedAt: systemClock.now(), config, digest })}\n`,
    { mode: 0o600 },
  )
  restrict(`${file}.new`)
  await rename(`${file}.new`, file)
  return () => rm(file, { force: true })
}
