import { expect, onTestFinished, test } from 'vitest'
import { tielineClient } from './client.ts'
import type { HostAsk, HostConnection } from './host.ts'
import { surroundings } from './surroundings.ts'

type Frame = { type: string } & Record<string, unknown>
type Socket = EventTarget & { sent: Frame[] }

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A program that is connected to what this test says, over as many connections as it takes. */
function connect(ask: Partial<HostAsk>): {
  host: HostConnection
  say: (frame: Frame) => Promise<void>
  cut: () => Promise<void>
  sent: () => Frame[]
} {
  const sockets: Socket[] = []
  const client = tielineClient({
    url: 'http://127.0.0.1:1',
    surroundings: { ...surroundings, sleep: soon },
    openSocket() {
      const sent: Frame[] = []
      const send = (text: string): void => void sent.push(JSON.parse(text) as Frame)
      const socket = Object.assign(new EventTarget(), { sent, send, close: () => undefined })
      sockets.push(socket)
      setImmediate(() => socket.dispatchEvent(new Event('open')))
      return socket as unknown as WebSocket
    },
  })
  const host = client.host({ agent: 'mine', sessions: [], run: async () => 'done', ...ask })
  onTestFinished(() => host.close())
  const happen = async (event: Event): Promise<void> => {
    for (let n = 0; n < 3; n += 1) await soon()
    sockets.at(-1)?.dispatchEvent(event)
    for (let n = 0; n < 3; n += 1) await soon()
  }
  return {
    host,
    say: (frame) => happen(new MessageEvent('message', { data: JSON.stringify(frame) })),
    cut: () => happen(Object.assign(new Event('close'), { reason: '', code: 1006 })),
    sent: () => sockets.at(-1)?.sent ?? [],
  }
}

const one = { id: 'one', cwd: '/work' }
const welcome = { type: 'welcome', sessions: [{ id: 'one', sessionId: 'ses_1', token: 'tls_ses_1.x' }] }
const refused = (about: object): Frame => ({
  type: 'error',
  error: { code: 'bad_input', message: 'no' },
  about,
})

test('an answer that is refused is replaced once, and not again when that is refused too', async () => {
  const { say, sent } = connect({ sessions: [one] })
  await say(welcome)
  await say({ type: 'turn', turn: 'turn_1', id: 'one', session: 'ses_1', task: 'go' })
  for (let n = 0; n < 3; n += 1) await say(refused({ type: 'answer', turn: 'turn_1' }))
  const answers = sent().filter(({ type }) => type === 'answer')
  expect(answers).toEqual([
    { type: 'answer', turn: 'turn_1', output: 'done' },
    { type: 'answer', turn: 'turn_1', output: '', error: 'the server did not take the answer: no' },
  ])
})

test('a session that the server has is brought again, although a change of it was refused', async () => {
  const { host, say, cut, sent } = connect({ sessions: [one] })
  await say(welcome)
  const changed = host.add({ ...one, title: 'no good title' })
  const refusing = changed.catch((fault: unknown) => String(fault))
  await say(refused({ type: 'session', session: 'one' }))
  expect(await refusing).toContain('no')
  await cut()
  expect(sent()).toMatchObject([{ type: 'hello', sessions: [{ id: 'one' }] }])
})

test('a session that was taken away is nobody any more, and is not brought again', async () => {
  const { host, say, cut, sent } = connect({ sessions: [one] })
  await say(welcome)
  expect(host.taken('one')?.sessionId).toBe('ses_1')
  host.remove('one')
  expect(host.taken('one')).toBeNull()
  expect(sent().at(-1)).toEqual({ type: 'gone', session: 'one' })
  await cut()
  expect(sent()).toMatchObject([{ type: 'hello', sessions: [] }])
})
