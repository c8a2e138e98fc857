/**
 * What 0.1.0 wrote and what its clients ask for still works. The directory was recorded by the released
 * program, which was killed while a question, a call of a client and a turn of an agent were open.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { openLog } from '../../src/recorded-log.ts'
import { cli, json, patience } from '../kits/cli.ts'
import { readRelease, unpack, upgrade, type Unpacked } from '../kits/released.ts'
import { askAddress } from './ask-address.ts'
import { settle } from './record.ts'
import type { Body } from './server.ts'
import { findChanged, findMissing } from './shape.ts'

vi.setConfig(patience)

const release = readRelease('0.1.0')
const { known, open, reads, addresses } = release.recorded
const isOpen = (call: string): boolean => Object.values(open).includes(call)

test('the configuration of 0.1.0 loads without an error', async () => {
  const { config } = unpack(release)
  const loaded = await loadConfig({ file: config, cwd: '/tmp', env: {}, home: homedir() })
  expect(loaded.config.agents.map(({ name }) => name)).toEqual(['planner', 'coder', 'ping', 'pong'])
  expect(loaded.config.limits).toMatchObject({ depthMax: 2, archiveAfterHours: 900_000 })
})

test('check says that the directory is whole, before the upgrade and after it', async () => {
  const place = unpack(release)
  const check = () => cli(place.directory, 'check', '--data-dir', place.dataDir, '--json')
  const before = await check()
  expect([before.code, json<Body>(before).problems]).toEqual([0, []])
  const { served, user } = await upgrade(release, place)
  await settle(user, open)
  await served.close()
  const after = await check()
  expect([after.code, json<Body>(after).problems]).toEqual([0, []])
})

/** Why a call was refused is recorded as values; how that reads may be worded better in every version. */
function keepWords(was: Body, is: Body): void {
  for (const [index, call] of ((was.calls ?? []) as Body[]).entries())
    keepWords(call, is.calls?.[index] ?? {})
  if (was.outcome !== 'refused' || is.outcome !== 'refused') return
  if (was.error != null && is.error != null) is.error = was.error
  if (was.errors?.length === 1 && is.errors?.length === 1) is.errors = was.errors
}

/** A session without a title goes by its first words, and a client by the name of its program. */
function keepNames(was: Body, is: Body): void {
  for (const [index, session] of ((was.sessions ?? []) as Body[]).entries())
    keepNames(session, is.sessions?.[index] ?? {})
  for (const [index, call] of ((was.calls ?? []) as Body[]).entries())
    keepNames(call, is.calls?.[index] ?? {})
  if (was.callerName === 'external') is.callerName = 'external'
  if (was.title === '') is.title = ''
  if (was.agentName === 'external') is.agentName = 'external'
}

test('sessions, conversations, calls, mail and agents are the same, with their ids and texts', async () => {
  const { user, warnings } = await upgrade(release, unpack(release))
  await settle(user, open)
  const changed: string[] = []
  for (const { path, body } of reads) {
    const now = (await user('GET', path)).body
    // The open work came after these answers.
    if (path.startsWith('/api/calls?')) now.calls = now.calls.filter(({ call }: Body) => !isOpen(call))
    if (path === `/api/sessions/${known.sessions.asked}`)
      Object.assign(now, { status: 'idle', active: false, updatedAt: body.updatedAt })
    keepWords(body, now)
    keepNames(body, now)
    changed.push(...findChanged(body, now).map((difference) => `${path} ${difference}`))
  }
  expect(changed).toEqual([])
  expect(reads.length).toBeGreaterThan(100)
  expect(warnings).toEqual([])
})

describe('what was open when the server died', () => {
  test('the turn of an agent goes on from its recorded steps, and its call ends once', async () => {
    const { user } = await upgrade(release, unpack(release))
    await settle(user, open)
    const { messages } = (await user('GET', `/api/sessions/${open['slow']}/messages`)).body
    expect(messages.at(-1)).toMatchObject({
      text: 'The coder said It took its time.. Errors: []',
      outcome: 'completed',
    })
    const { calls } = (await user('GET', `/api/sessions/${open['slow']}/calls`)).body
    expect(calls).toMatchObject([{ call: open['slowCall'], outcome: 'completed' }])
  })

  test('the turn of a client ends lost, and the call that it waited for ends too', async () => {
    const { user, served } = await upgrade(release, unpack(release))
    await settle(user, open)
    const call = (await user('GET', `/api/calls/${open['clientCall']}`)).body
    expect(call).toMatchObject({ callerSession: known.sessions.first })
    const events = await served.line.log.events(known.sessions.first)
    const ended = events.findLast(
      ({ event }) => event.type === 'turn.ended' && event.session === known.sessions.first,
    )
    expect([call.outcome, ended?.event]).toMatchObject(['cancelled', { outcome: 'lost' }])
  })

  test('the question is still open, and its answer lets the turn go on', async () => {
    const { user } = await upgrade(release, unpack(release))
    const { questions } = (await user('GET', '/api/questions')).body
    expect(questions).toMatchObject([{ id: open['question'], session: known.sessions.asked, tool: 'read' }])
    await user('POST', `/api/questions/${open['question']}`, { answer: 'deny' })
    await user('GET', `/api/sessions/${known.sessions.asked}/wait?timeoutMs=20000`)
    const { messages } = (await user('GET', `/api/sessions/${known.sessions.asked}/messages`)).body
    expect(messages.at(-1)).toMatchObject({
      text: expect.stringContaining('The answer was') as string,
      outcome: 'completed',
    })
    expect((await user('GET', '/api/questions')).body.questions).toEqual([])
  })
})

/** Those in which a turn was begun: a message that only waited has nothing to run again. */
function listFlows(dataDir: string): string[] {
  const db = new DatabaseSync(join(dataDir, 'tieline.db'))
  const rows = db.prepare('select distinct flow from turns order by flow').all() as { flow: string }[]
  db.close()
  return rows.map(({ flow }) => flow)
}

test('a replay of what 0.1.0 recorded shows no difference', async () => {
  const { dataDir, config } = unpack(release)
  const flows = listFlows(dataDir)
  const log = await openLog({ dataDir, config })
  const differences: unknown[] = []
  for (const flow of flows) {
    const { difference } = await log.replay(flow)
    // No replay, not even that of 0.1.0, runs agents that were created through the API.
    if (difference !== null && difference.agent !== known.agent) differences.push({ flow, difference })
  }
  await log.close()
  expect(differences).toEqual([])
  expect(flows.length).toBeGreaterThan(15)
})

test('every address of its clients answers with the status and the fields that 0.1.0 answered', async () => {
  const { user, served } = await upgrade(release, unpack(release))
  await settle(user, open)
  const tokens = { ...known.tokens, user: release.token }
  const problems: string[] = []
  for (const { request, answer: before } of addresses) {
    const now = await askAddress(served.url, tokens, request)
    const name = `${request.method} ${request.path} ${JSON.stringify(request.body ?? '')}`
    const missing = findMissing(before.shape, now.shape)
    for (const key of ['status', 'type', 'code'] as const)
      if (before[key] !== now[key]) missing.push(`${key}: was ${before[key]}, is ${now[key]}`)
    problems.push(...missing.map((problem) => `${name} ${problem}`))
  }
  expect(problems).toEqual([])
})

/** SQLite may make empty files of its own beside the log when it looks at it. */
const readFiles = ({ dataDir }: Unpacked): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dataDir)
      .filter((name) => !/lock|shm|server\.json/.test(name))
      .map((name) => [name, readFileSync(join(dataDir, name)).toString('base64')]),
  )

test('a directory of a newer version is refused with a clear error, and left untouched', async () => {
  const place = unpack(release)
  const db = new DatabaseSync(join(place.dataDir, 'tieline.db'))
  const { user_version: format } = db.prepare('pragma user_version').get() as { user_version: number }
  db.exec(`pragma user_version = ${format + 100}`)
  db.close()
  const before = readFiles(place)
  await expect(upgrade(release, place)).rejects.toThrow(
    new RegExp(`was written by a newer Tieline \\(its format is ${format + 100}, this one knows \\d+\\)`),
  )
  expect(readFiles(place)).toMatchObject(before)
})
