/** A scratch copy of a release's data directory, as its killed server left it, and the server on it now. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'
import { openServer, type OpenServer } from '../../src/open-server.ts'
import { logFiles, type Recorded } from '../released/record.ts'
import { createAsk, type Ask } from '../released/server.ts'

export type Release = { fixture: string; recorded: Recorded; token: string }
export type Unpacked = { directory: string; config: string; dataDir: string }

export function readRelease(version: string): Release {
  const fixture = join(import.meta.dirname, '../released', version)
  return {
    fixture,
    recorded: JSON.parse(readFileSync(join(fixture, 'recorded.json'), 'utf8')) as Recorded,
    token: readFileSync(join(fixture, 'data/token'), 'utf8').trim(),
  }
}

export function unpack({ fixture }: Release): Unpacked {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-released-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  for (const name of ['tieline.toml', 'data/token', 'data/secret'])
    cpSync(join(fixture, name), join(directory, name), { recursive: true })
  for (const name of logFiles)
    writeFileSync(
      join(directory, 'data', name),
      gunzipSync(readFileSync(join(fixture, 'data', `${name}.gz`))),
    )
  return { directory, config: join(directory, 'tieline.toml'), dataDir: join(directory, 'data') }
}

export type Upgraded = { served: OpenServer; user: Ask; warnings: string[] }

export async function upgrade(release: Release, { config, dataDir }: Unpacked): Promise<Upgraded> {
  const warnings: string[] = []
  const served = await openServer({
    config,
    dataDir,
    cwd: '/tmp',
    port: 0,
    onWarning: (text) => warnings.push(text),
  })
  onTestFinished(() => served.close())
  return { served, user: createAsk(served.url, release.token), warnings }
}
