import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exchangeOf } from '../../../test/kits/askers.ts'
import {
  callTool,
  fieldsIn,
  jsonRpc,
  mcpWorld,
  post,
  whoHeader,
  whoText,
  type McpWorld,
} from '../../../test/kits/mcp.ts'
import type { SessionId } from '../../model/id.ts'

let directory = ''
const worlds: McpWorld[] = []
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-addresses-')))
  for (const name of ['api', 'web']) mkdirSync(join(directory, name))
})
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close()
  rmSync(directory, { recursive: true })
})

/** A server that runs in one of the projects, on a log that outlives it. */
async function open(cwd: string): Promise<McpWorld> {
  const world = await mcpWorld({
    cwd,
    dataDir: join(directory, 'data'),
    agents: { echo: { script: ({ task }) => `echo: ${task}` } },
  })
  worlds.push(world)
  return world
}

type Said = { name?: string; session?: string; who?: string; revision?: '2025-11-25' | '2026-07-28' }

const connect = (w: McpWorld, cwd: string | null, { name = 'codex', session, who, revision }: Said = {}) =>
  w.connect(revision ?? '2025-11-25', {
    name,
    headers: {
      ...(cwd === null ? {} : { 'x-tieline-cwd': cwd }),
      ...(session === undefined ? {} : { 'x-tieline-client-session': session }),
      ...(who === undefined ? {} : { [whoHeader]: who }),
    },
  })

const use = async (client: Client, tool: string, input: Record<string, unknown> = {}) =>
  fieldsIn(await callTool(client, tool, input))
const ownId = async (client: Client): Promise<string> => String((await use(client, 'list-session'))['you'])

test('mail reaches the wrong project after the server was restarted elsewhere', async () => {
  const [api, web] = [join(directory, 'api'), join(directory, 'web')]
  const before = await open(api)
  const [apiBefore, webBefore] = [
    await ownId(await connect(before, api)),
    await ownId(await connect(before, web)),
  ]
  const sender = await connect(before, web, { name: 'sender' })
  await use(sender, 'send-message', { session: apiBefore, message: 'for the api' })
  await before.close()
  worlds.length = 0
  const after = await open(web)
  const [apiAfter, webAfter] = [await connect(after, api), await connect(after, web)]
  expect([await ownId(apiAfter), await ownId(webAfter)]).toEqual([apiBefore, webBefore])
  expect(await use(webAfter, 'buffer')).toMatchObject({ total: 0 })
  expect(await use(apiAfter, 'buffer')).toMatchObject({ total: 1 })
})

test('a link to a directory is that directory', async () => {
  const w = await open(directory)
  symlinkSync(join(directory, 'api'), join(directory, 'link'))
  const real = await ownId(await connect(w, join(directory, 'api')))
  expect(await ownId(await connect(w, join(directory, 'link')))).toBe(real)
})

test('clients that say nothing but their name are told apart by their connection', async () => {
  const w = await open(directory)
  const [one, two] = [await connect(w, null), await connect(w, null)]
  expect(await ownId(one)).not.toBe(await ownId(two))
  expect(await ownId(one)).toBe(await ownId(one))
})

test('threads of Codex over one connection are told apart', async () => {
  const w = await open(directory)
  const client = await connect(w, null)
  const you = async (threadId: string): Promise<unknown> => {
    const asked = { name: 'list-session', arguments: {}, _meta: { threadId } }
    return fieldsIn(await client.callTool(asked))['you']
  }
  expect(await you('one')).toBe('ses_client-codex_one')
  expect(await you('two')).toBe('ses_client-codex_two')
})

test('mail to <client>@<directory> waits for the next who works there, and is taken once', async () => {
  const w = await open(directory)
  const api = join(directory, 'api')
  const gone = await connect(w, api, { session: 'gone' })
  const own = await ownId(gone)
  await gone.close()
  const sender = await connect(w, join(directory, 'web'), { name: 'sender', session: 's' })
  const sent = await use(sender, 'send-message', { session: 'codex@api', message: 'whoever is there' })
  expect(sent).toMatchObject({ status: 'buffered', error: null })
  expect(sent['session']).not.toBe(own)
  const [next, other] = [
    await connect(w, api, { session: 'next' }),
    await connect(w, api, { session: 'other' }),
  ]
  for (const client of [next, other]) expect(await use(client, 'buffer')).toMatchObject({ total: 1 })
  const elsewhere = await connect(w, join(directory, 'web'), { session: 'elsewhere' })
  expect(await use(elsewhere, 'buffer')).toMatchObject({ total: 0 })
  const [first, second] = await Promise.all([
    use(next, 'buffer', { accept: true }),
    use(other, 'buffer', { accept: 'newest' }),
  ])
  expect([first['accepted'], second['accepted']].filter((accepted) => accepted === true)).toHaveLength(1)
  const [winner, loser] = first['accepted'] === true ? [next, other] : [other, next]
  expect(await use(loser, 'send-message', { message: 'mine?', reply: [sent['id']] })).toMatchObject({
    error: { code: 'reply_not_addressed' },
  })
  expect(await use(winner, 'send-message', { message: 'I am', reply: [sent['id']] })).toMatchObject({
    session: await ownId(sender),
    error: null,
  })
  expect(await use(sender, 'buffer', { replies: true })).toMatchObject({ total: 1 })
})

test('own mail and that of the address are one list, oldest first, and one can be taken by its place', async () => {
  const w = await open(directory)
  const api = join(directory, 'api')
  const client = await connect(w, api, { session: 'one' })
  const own = await ownId(client)
  const sender = await connect(w, api, { name: 'sender', session: 's' })
  for (const [session, message] of [
    ['codex@api', 'first'],
    [own, 'second'],
    ['codex@api', 'third'],
  ])
    await use(sender, 'send-message', { session, message })
  const list = (await use(client, 'buffer')) as { messages: { message: string }[] }
  expect(list.messages.map(({ message }) => /first|second|third/.exec(message)?.[0])).toEqual([
    'first',
    'second',
    'third',
  ])
  expect(await use(client, 'buffer', { accept: 2 })).toMatchObject({ message: { to: own } })
  expect(await use(client, 'buffer', { accept: 'newest' })).toMatchObject({
    message: { message: expect.stringContaining('third') as string },
  })
})

test('an accept that is tried again with its key takes no second message from the address', async () => {
  const w = await open(directory)
  const api = join(directory, 'api')
  const headers = { 'x-tieline-cwd': api, 'x-tieline-client-session': 'one', 'mcp-session-id': 'codex.1' }
  const ask = (name: string, input: object, more: object = {}) =>
    post(w, jsonRpc('tools/call', { name, arguments: input }, 3), { ...headers, ...more }).then((said) =>
      said.text(),
    )
  await ask('list-session', {})
  for (const message of ['first', 'second']) await ask('send-message', { session: 'codex@api', message })
  const take = () => ask('buffer', { accept: true }, { 'idempotency-key': 'k' })
  const [first, again] = [await take(), await take()]
  expect(first).toContain('first')
  expect(again).toContain('first')
  expect(await ask('buffer', {})).toContain('"total":1')
})

test('an address that nobody has worked at is refused with those that there are', async () => {
  const w = await open(directory)
  const client = await connect(w, join(directory, 'api'), { session: 'one' })
  await ownId(client)
  expect(await use(client, 'send-message', { session: 'gemini@api', message: 'hello' })).toMatchObject({
    error: {
      code: 'session_unknown',
      message: expect.stringContaining(`codex@${join(directory, 'api')}`) as string,
    },
  })
})

test('mail to a whole address where nobody has worked yet waits for the first who does', async () => {
  const w = await open(directory)
  const sender = await connect(w, join(directory, 'web'), { name: 'sender', session: 's' })
  const to = `claude@${join(directory, 'api')}`
  const sent = await use(sender, 'send-message', { session: to, message: 'welcome' })
  expect(sent).toMatchObject({ status: 'buffered', error: null })
  const first = await connect(w, join(directory, 'api'), { name: 'claude-code', session: 'one' })
  const taken = await use(first, 'buffer', { accept: true })
  expect(taken).toMatchObject({
    message: { message: expect.stringContaining('welcome') as string },
    instruction: expect.stringContaining(`reply ["${String(sent['id'])}"]`) as string,
  })
  const nowhere = { session: `claude@${join(directory, 'nowhere')}`, message: 'lost' }
  expect(await use(sender, 'send-message', nowhere)).toMatchObject({ error: { code: 'session_unknown' } })
})

test('send_agent_message said that there is no session where send-message knew the address', async () => {
  const w = await open(directory)
  const sender = await connect(w, join(directory, 'web'), { name: 'sender', session: 's' })
  const receiver = await connect(w, join(directory, 'api'), { session: 'one' })
  const id = await ownId(receiver)
  for (const to of ['codex@api', id, id.slice(0, -2)])
    expect(await use(sender, 'send_agent_message', { sessionId: to, message: 'hello' })).toMatchObject({
      status: 'buffered',
      error: null,
    })
  expect(await use(sender, 'get_session_state', { sessionId: 'codex@api' })).toMatchObject({ error: null })
  expect(await use(receiver, 'buffer')).toMatchObject({ total: 3 })
  const own = await ownId(sender)
  expect(await use(sender, 'send-message', { session: own, message: 'to myself' })).toMatchObject({
    error: { message: expect.stringContaining(`write to itself (${own})`) as string },
  })
})

test('a token is bound to its session: it does not take what waits at the address', async () => {
  const w = await open(directory)
  const api = join(directory, 'api')
  const client = await connect(w, api, { session: 'one' })
  const own = (await ownId(client)) as SessionId
  await use(client, 'send-message', { session: 'codex@api', message: 'for a person' })
  const bound = await connect(w, api, { session: 'one', who: whoText({ kind: 'session', session: own }) })
  expect(await use(bound, 'buffer')).toMatchObject({ total: 0 })
  expect(await use(bound, 'buffer', { accept: true })).toMatchObject({ accepted: false })
  expect(await use(bound, 'buffer', { session: 'codex@api' })).toMatchObject({
    error: { code: 'not_allowed' },
  })
  expect(await use(client, 'buffer')).toMatchObject({ total: 1 })
})

test('what 0.1.0 called after the directory of the server stays the session of that directory', async () => {
  const w = await open(directory)
  const api = join(directory, 'api')
  const old = await exchangeOf(w.line.desks).clientSession('codex', api)
  expect(old).toBe('ses_client-codex')
  expect(await ownId(await connect(w, api))).toBe(old)
  expect(await ownId(await connect(w, join(directory, 'web')))).not.toBe(old)
})
