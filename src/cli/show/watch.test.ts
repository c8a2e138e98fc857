import { expect, onTestFinished, test } from 'vitest'
import type { TielineClient } from '../../client/client.ts'
import { TielineError } from '../../client/tieline-error.ts'
import { endWork, openWatch } from './watch.ts'

/** A server that knows these fields of a cancel. */
function serverWith(known: readonly string[]) {
  const cancelled: object[] = []
  return {
    cancelled,
    async cancel(_session: string, ask: object = {}): Promise<{ cancelled: number }> {
      const unknown = Object.keys(ask).find((name) => !known.includes(name))
      if (unknown !== undefined)
        throw new TielineError({ code: 'bad_input', message: `${unknown} is not known` }, 400)
      cancelled.push(ask)
      return { cancelled: 1 }
    },
  }
}

const work = { session: 'ses_a', message: 'msg_1' }

test('what is late is ended as late, and by a server from before an update as cancelled', async () => {
  const [present, older, oldest] = [serverWith(['turn', 'timedOut']), serverWith(['turn']), serverWith([])]
  for (const server of [present, older, oldest]) await endWork(server, work, true)
  expect(present.cancelled).toEqual([{ turn: 'turn_1', timedOut: true }])
  expect(older.cancelled).toEqual([{ turn: 'turn_1' }])
  expect(oldest.cancelled).toEqual([{}])
  await endWork(present, work, false)
  expect(present.cancelled.at(-1)).toEqual({ turn: 'turn_1' })
})

test('a cancel that is refused for another reason is not sent a second time', async () => {
  let tries = 0
  const cancel = (): Promise<never> => {
    tries += 1
    return Promise.reject(new TielineError({ code: 'session_unknown', message: 'no such session' }, 404))
  }
  await expect(endWork({ cancel }, work, true)).rejects.toThrow('no such session')
  expect(tries).toBe(1)
})

test('a server that is lost while work is sent to it ends the work, and not the whole program', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const [lost, sent] = [Promise.withResolvers<[]>(), Promise.withResolvers<void>()]
  const client = {
    url: 'http://127.0.0.1:1',
    async *events({ onConnection }: { onConnection: (state: object) => void }) {
      onConnection({ open: true, after: '1' })
      yield* await lost.promise
    },
  } as unknown as TielineClient
  const watch = await openWatch(client, { awayMsMax: 1000 } as Parameters<typeof openWatch>[1])
  const work = watch.follow(
    { session: 'ses_a', message: 'msg_a', start: () => sent.promise },
    new AbortController().signal,
  )
  lost.reject(new Error('the server is away'))
  for (let n = 0; n < 5; n += 1) await new Promise<void>((resolve) => setImmediate(resolve))
  sent.resolve()
  await expect(work).rejects.toThrow('the server is away')
  expect(unhandled).toEqual([])
  await watch.close()
})
