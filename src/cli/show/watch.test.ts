import { expect, test } from 'vitest'
import { TielineError } from '../../client/tieline-error.ts'
import { endWork } from './watch.ts'

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

test('what is late is ended as late, and by a server from before an update as cancelled', async () => {
  const [present, older] = [serverWith(['timedOut']), serverWith([])]
  for (const server of [present, older]) await endWork(server, 'ses_a', true)
  expect(present.cancelled).toEqual([{ timedOut: true }])
  expect(older.cancelled).toEqual([{}])
  await endWork(present, 'ses_a', false)
  expect(present.cancelled).toEqual([{ timedOut: true }, {}])
})

test('a cancel that is refused for another reason is not sent a second time', async () => {
  let tries = 0
  const cancel = (): Promise<never> => {
    tries += 1
    return Promise.reject(new TielineError({ code: 'session_unknown', message: 'no such session' }, 404))
  }
  await expect(endWork({ cancel }, 'ses_a', true)).rejects.toThrow('no such session')
  expect(tries).toBe(1)
})
