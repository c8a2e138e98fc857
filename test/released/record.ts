/**
 * Records the fixture of a release with the program of that release: `node record.ts <main.ts> <directory>`.
 * The directory has `tieline.toml`, `data/token` and `data/secret`, and gets the rest. Nothing of it is
 * recorded again later, because no later program can write what the released one wrote.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { listAddresses, type Address, type Answered } from './addresses.ts'
import { askAddress } from './ask-address.ts'
import { openWork, playScenario, type Known } from './scenario.ts'
import { createAsk, startReleased, waitUntil, type Ask, type Body } from './server.ts'

/** What is left of a killed server: its log, and what it had not yet moved into it. */
export const logFiles = ['tieline.db', 'tieline.db-wal'] as const

export type Recorded = {
  known: Known
  open: Record<string, string>
  /** Whole answers about work that was over before the kill. */
  reads: { path: string; body: Body }[]
  addresses: { request: Address; answer: Answered }[]
}

async function readEverything(user: Ask, known: Known): Promise<Recorded['reads']> {
  const read = async (path: string): Promise<Body> => (await user('GET', path)).body
  const sessions: Body[] = [
    ...(await read('/api/sessions?limit=200')).sessions,
    ...(await read('/api/sessions?limit=200&archived=true')).sessions,
  ]
  const calls: Body[] = (await read('/api/calls?limit=500')).calls
  const letters = 'draft draft-of-client waits declined accepted hello reply dead for-spare'.split(' ')
  const paths = [
    '/api/calls?limit=500',
    ...sessions.flatMap(({ id }) =>
      ['', '/messages?limit=200', '/inbox', '/drafts'].map((of) => `/api/sessions/${id}${of}`),
    ),
    ...calls.map(({ call }) => `/api/calls/${call}`),
    ...letters.flatMap((id) => [`/api/messages/${id}`, `/api/messages/${id}/thread`]),
    '/api/drafts',
    '/api/dead-letters',
    '/api/agents',
    '/v1/agents',
    `/v1/agents/${known.agent}/messages`,
  ]
  const reads: Recorded['reads'] = []
  for (const path of new Set(paths)) reads.push({ path, body: await read(path) })
  return reads
}

export async function settle(user: Ask, open: Record<string, string>): Promise<void> {
  await waitUntil('the open calls end', async () => {
    const ids = [open['clientCall'], open['slowCall']]
    const calls = await Promise.all(ids.map(async (id) => (await user('GET', `/api/calls/${id}`)).body))
    return calls.every((call) => call.outcome !== null)
  })
  await user('GET', `/api/sessions/${open['slow']}/wait?timeoutMs=20000`)
}

async function record(main: string, fixture: string): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'released-'))
  const token = readFileSync(join(fixture, 'data/token'), 'utf8').trim()
  for (const name of ['tieline.toml', 'data/token', 'data/secret'])
    cpSync(join(fixture, name), join(scratch, name), { recursive: true })
  const first = await startReleased(main, scratch)
  const known = await playScenario(first.url, token)
  const reads = await readEverything(createAsk(first.url, token), known)
  await first.end('SIGTERM')
  const second = await startReleased(main, scratch)
  const open = await openWork(second.url, token, known)
  await second.end('SIGKILL')
  for (const name of logFiles)
    writeFileSync(
      join(fixture, `data/${name}.gz`),
      gzipSync(readFileSync(join(scratch, 'data', name)), { level: 9 }),
    )
  const third = await startReleased(main, scratch)
  await settle(createAsk(third.url, token), open)
  const tokens = { ...known.tokens, user: token }
  const addresses: Recorded['addresses'] = []
  for (const request of listAddresses(known, open))
    addresses.push({ request, answer: await askAddress(third.url, tokens, request) })
  await third.end('SIGTERM')
  const lines = Object.entries({ known, open, reads, addresses } satisfies Recorded).map(([key, value]) => {
    const rows = Array.isArray(value)
      ? `[\n${value.map((row) => JSON.stringify(row)).join(',\n')}\n]`
      : JSON.stringify(value)
    return `${JSON.stringify(key)}: ${rows}`
  })
  writeFileSync(join(fixture, 'recorded.json'), `{\n${lines.join(',\n')}\n}\n`)
  rmSync(scratch, { recursive: true })
}

const [main, fixture] = process.argv.slice(2)
if (import.meta.main && main !== undefined && fixture !== undefined) await record(main, fixture)
