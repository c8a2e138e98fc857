/** Frames and bodies that make no sense, and those that are too deep, too wide or too large. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { listen, serve, until, type Frame } from '../kits/http.ts'
import { runs, json, nearly } from '../kits/nonsense.ts'

test(`${runs} frames that make no sense are answered or end the socket, and nothing breaks`, async () => {
  const served = await serve()
  const session = await served.open('echo')
  const frame = fc.oneof(
    fc.string({ maxLength: 40 }),
    json.map((value) => JSON.stringify(value) ?? ''),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    nearly({ type: 'subscribe', sessionIds: [session], after: '0' }).map((value) => JSON.stringify(value)),
    nearly({ type: 'subscribe', sessionIds: [session, 'nobody'], after: 1 }).map((value) =>
      JSON.stringify(value),
    ),
  )
  const answers = new Set<string>()
  const codes = new Set<number>()
  let sent = 0
  for (const frames of fc.sample(fc.array(frame, { minLength: 100, maxLength: 100 }), runs / 100)) {
    for (let rest = frames; rest.length > 0;) {
      const socket = await listen(served.url)
      await until(() => socket.frames.length > 0)
      // A socket lives until its tenth bad frame; each frame has its answer, and they are waited for, so that
      // none is one too many at once.
      const replies = (): Frame[] =>
        socket.frames.filter(({ type }) => type === 'error' || type === 'subscribed')
      let used = 0
      while (used < rest.length && socket.ws.readyState === socket.ws.OPEN) {
        const batch = rest.slice(used, used + 8)
        const before = replies().length
        for (const one of batch) socket.ws.send(one)
        used += batch.length
        sent += batch.length
        await until(
          () => replies().length >= before + batch.length || socket.ws.readyState !== socket.ws.OPEN,
        )
      }
      for (const { type, error } of replies()) answers.add(error?.code ?? type)
      if (socket.ws.readyState !== socket.ws.OPEN) codes.add((await socket.closed).code)
      socket.ws.terminate()
      rest = rest.slice(used)
    }
  }
  expect(sent).toBeGreaterThanOrEqual(runs)
  expect([...codes]).toEqual([1008])
  expect([...answers].toSorted()).toEqual(['bad_input', 'session_unknown', 'subscribed'])
  expect(served.logged.filter(({ level }) => level === 'error')).toEqual([])
  expect((await served.get('/health')).status).toBe(200)
}, 120_000)

/** Deep, wide and huge bodies: where each comes from is named, and none is a fault of ours. */
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

const wide = (count: number): string => Array.from({ length: count }, (_, index) => `"k${index}":0`).join()

const oversized: [string, string, number, string | undefined][] = [
  ['deep JSON under a field', `{"agent":"echo","task":"x","input":${nested(200_000)}}`, 400, 'input'],
  ['deep JSON under a field that does not exist', `{"nothing":${nested(3000)}}`, 400, 'nothing'],
  ['deep JSON', nested(500_000), 400, 'body'],
  ['deep JSON that is never closed', '['.repeat(900_000), 400, 'body'],
  ['deep objects', `{"message":${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}}`, 400, 'message'],
  ['more values than are taken', `{"input":[${'1,'.repeat(400_000)}1]}`, 400, 'input'],
  ['many fields', `{${wide(40_000)}}`, 400, undefined],
  ['a long name', `{"${'x'.repeat(900_000)}":1}`, 400, undefined],
  ['a body that is too large', `"${'x'.repeat(1_100_000)}"`, 413, 'body'],
]

test.each(oversized)(
  '%s: every route says so with the field, and never with a 500 or an empty id',
  async (_name, body, status, field) => {
    const served = await serve()
    const session = await served.open('echo')
    for (const path of [
      '/api/calls',
      '/api/sessions',
      `/api/sessions/${session}/messages`,
      '/api/messages',
      '/api/questions/q',
    ]) {
      const answer = await served.post(path, body)
      expect({ path, status: answer.status }).toEqual({ path, status })
      expect(answer.body.error).toMatchObject({
        code: status === 413 ? 'too_large' : 'bad_input',
        ...(field === undefined ? {} : { field }),
      })
      expect(answer.text.length).toBeLessThan(3000)
    }
    expect(served.logged.filter(({ level }) => level === 'error')).toEqual([])
    expect((await served.get('/health')).status).toBe(200)
  },
)
