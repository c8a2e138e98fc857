/**
 * What a connected program says beyond the limits, and what the server refuses: nobody waits for an answer
 * that never comes. A real server and the real client.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import type { HostAsk, HostConnection } from '../../src/client/host.ts'
import type { Json } from '../../src/model/json.ts'
import { openServer, type OpenServer } from '../../src/open-server.ts'

const open: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function hosted(
  ask: Partial<HostAsk> = {},
): Promise<{ served: OpenServer; client: TielineClient; host: HostConnection; errors: string[] }> {
  const served = await openServer({
    dataDir: mkdtempSync(join(tmpdir(), 'tieline-host-')),
    port: 0,
    agents: { helper: { script: [{ say: 'helped' }] } },
  })
  open.push(() => served.close())
  const client = tielineClient({ url: served.url })
  const errors: string[] = []
  const host = client.host({
    agent: 'mine',
    tools: ['sub_agent'],
    sessions: [{ id: 'one', cwd: tmpdir() }],
    run: async () => 'ok',
    onError: ({ message }) => errors.push(message),
    ...ask,
  })
  open.push(() => host.close())
  await host.ready
  return { served, client, host, errors }
}

/** The end of the turn that a message began. */
async function turnOf({
  client,
  served,
}: {
  client: TielineClient
  served: OpenServer
}): Promise<{ outcome: string; output: string; error: string | null }> {
  await client.sessions.send('ses_mine-one', { message: 'go' })
  await client.sessions.wait('ses_mine-one', { timeoutMs: 20_000 })
  const { events } = await served.line.store.read(0, { types: ['turn.ended'] }, 100)
  const ended = events.at(-1)?.event
  return ended?.type === 'turn.ended' ? ended : { outcome: 'none', output: '', error: null }
}

test('a session that the server refuses is refused to whoever added it, and is not brought again', async () => {
  const { host, errors } = await hosted()
  await expect(host.add({ id: 'not an id', cwd: tmpdir() })).rejects.toMatchObject({
    code: 'bad_input',
    message: expect.stringContaining('session.id') as string,
  })
  await expect(host.add({ id: 'two', cwd: '/not/there' })).rejects.toMatchObject({
    code: 'bad_input',
    message: expect.stringContaining('a directory that exists') as string,
  })
  expect(errors).toHaveLength(2)
  expect(
    await Promise.all([host.add({ id: 'three', cwd: tmpdir() }), host.add({ id: 'three', cwd: tmpdir() })]),
  ).toEqual(['ses_mine-three', 'ses_mine-three'])
  expect([host.taken('two'), host.taken('three')?.sessionId]).toEqual([null, 'ses_mine-three'])
})

test('many sessions that are refused do not cost a program its connection, nor those that are taken', async () => {
  const { client, host } = await hosted({
    sessions: [
      ...Array.from({ length: 12 }, (_, n) => ({ id: `bad${n}`, cwd: '/not/there' })),
      { id: 'one', cwd: tmpdir(), title: 't'.repeat(2000) },
    ],
  })
  expect(host.taken('one')?.sessionId).toBe('ses_mine-one')
  expect((await client.sessions.get('ses_mine-one')).title).toHaveLength(500)
  expect(await host.add({ id: 'two', cwd: tmpdir() })).toBe('ses_mine-two')
})

test('more sessions than one hello can hold follow it', async () => {
  const sessions = Array.from({ length: 1001 }, (_, n) => ({ id: `s${n}`, cwd: tmpdir() }))
  const { host, errors } = await hosted({ sessions })
  await expect.poll(() => host.taken('s1000')?.sessionId, { timeout: 15_000 }).toBe('ses_mine-s1000')
  expect([host.taken('s0')?.sessionId, errors]).toEqual(['ses_mine-s0', []])
})

test('what was added and not yet answered ends with the connection', async () => {
  const { host } = await hosted()
  const added = host.add({ id: 'two', cwd: tmpdir() })
  host.close()
  await expect(added).rejects.toThrow('the connection was closed')
  await expect(host.add({ id: 'three', cwd: tmpdir() })).rejects.toThrow('the connection was closed')
})

test('the reason of a failure is cut to what is taken, and arrives', async () => {
  const w = await hosted({ run: () => Promise.reject(new Error(`why ${'x'.repeat(50_000)}`)) })
  const { outcome, error } = await turnOf(w)
  expect([outcome, error?.startsWith('host_failed: why xxx'), error?.length]).toEqual([
    'failed',
    true,
    10_000 + 'host_failed: '.length,
  ])
})

test('what is said in one breath is sent in pieces, and none of it is lost', async () => {
  const said = '\u{1f600}'.repeat(100_000)
  const w = await hosted({
    run: async (turn) => {
      turn.say(`x${said}`)
      throw new Error('enough')
    },
  })
  const { output } = await turnOf(w)
  expect(output === `x${said}`).toBe(true)
  expect(w.errors).toEqual([])
})

test('an output that no frame can hold is a failure that says so, with its beginning', async () => {
  const w = await hosted({ run: async () => 'y'.repeat(5 * 1024 * 1024) })
  const { outcome, output, error } = await turnOf(w)
  expect([outcome, output.startsWith('yyyy'), error]).toEqual([
    'failed',
    true,
    expect.stringContaining('too_large: the output has 52'),
  ])
})

test('an answer that the server does not take is answered for, so that the turn ends', async () => {
  const w = await hosted({ run: async () => ({ output: 5 as unknown as string }) })
  expect(await turnOf(w)).toMatchObject({
    outcome: 'failed',
    error: expect.stringContaining('the server did not take the answer: output: 5 was given') as string,
  })
})

test('usage in fractions is counted as whole tokens', async () => {
  const w = await hosted({ run: async () => ({ output: 'fine', usage: { input: 1.5, output: Number.NaN } }) })
  expect(await turnOf(w)).toMatchObject({ outcome: 'completed', output: 'fine', tokensUsed: 2 })
})

test('a session that its program cannot open fails what waits for it; other programs are asked first', async () => {
  const w = await hosted({ opens: { cwd: tmpdir(), open: () => Promise.reject(new Error('no room')) } })
  const { sessionId } = await w.client.sessions.create({
    cwd: tmpdir(),
    agent: 'mine',
    initialMessage: 'one',
  })
  await w.client.sessions.send(sessionId, { message: 'two' })
  expect(await w.client.sessions.wait(sessionId, { timeoutMs: 10_000 })).toMatchObject({
    isActive: false,
    status: 'error',
  })
  const { messages } = await w.client.sessions.history(sessionId)
  expect(messages.map(({ text }) => text).slice(0, 2)).toEqual([
    'one',
    `[host_failed: the program could not open ${sessionId}: no room]`,
  ])
  const able = w.client.host({
    agent: 'mine',
    run: async ({ task }) => `did ${task}`,
    opens: { cwd: tmpdir(), open: async ({ cwd }) => ({ id: 'made', cwd }) },
  })
  open.push(() => able.close())
  await able.ready
  await w.client.sessions.send(sessionId, { message: 'three' })
  expect(await w.client.sessions.wait(sessionId, { timeoutMs: 10_000 })).toMatchObject({
    status: 'idle',
    lastMessage: { content: 'did three' },
  })
  const second = await w.client.sessions.create({ cwd: tmpdir(), agent: 'mine', initialMessage: 'four' })
  expect(await w.client.sessions.wait(second.sessionId, { timeoutMs: 10_000 })).toMatchObject({
    lastMessage: { content: 'did four' },
  })
})

test('a tool use that is unreadable, too large, or of a turn that is over is answered', async () => {
  const answers: Json[] = []
  let late: () => Promise<unknown> = async () => undefined
  const w = await hosted({
    run: async (turn) => {
      answers.push(
        (await turn.tool('', {})).value,
        (await turn.tool('sub_agent', { agent_name: 'helper', task: 'x'.repeat(5 * 1024 * 1024) })).value,
      )
      late = () => turn.tool('sub_agent', { agent_name: 'helper', task: 'x' })
      return 'ok'
    },
  })
  expect(await turnOf(w)).toMatchObject({ outcome: 'completed' })
  expect(answers).toMatchObject([{ error: { code: 'bad_input' } }, { error: { code: 'too_large' } }])
  expect(await late()).toMatchObject({ ok: false, value: { error: { code: 'call_ended' } } })
})
