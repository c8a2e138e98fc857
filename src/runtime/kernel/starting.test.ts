import { expect, test } from 'vitest'
import type { SessionId, TurnId } from '../../model/id.ts'
import { startingOne } from './commit.ts'
import type { Runtime } from './runtime.ts'

const turn = 'turn_1' as TurnId
const session = 'ses_1' as SessionId

/** All that this part of a runtime consists of. */
const someRuntime = (): Runtime =>
  ({ starting: new Map(), brokenOff: new Set() }) as Pick<Runtime, 'starting' | 'brokenOff'> as Runtime

test('R6: a work that was decided again and started nothing does not forget what another starts', async () => {
  const runtime = someRuntime()
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const begin = (until: Promise<void>): Promise<void> =>
    startingOne(runtime, session, (note) => {
      note(turn)
      // A transaction may run twice.
      note(turn)
      return until
    })
  const works = [begin(first.promise), begin(second.promise)]
  first.resolve()
  await works[0]
  expect(runtime.starting.has(turn)).toBe(true)
  second.resolve()
  await works[1]
  expect(runtime.starting.has(turn)).toBe(false)
})

test('what broke off is looked at again, and no longer counts as starting', async () => {
  const runtime = someRuntime()
  const broken = startingOne(runtime, session, (note) => {
    note(turn)
    return Promise.reject(new Error('the disk is full'))
  })
  await expect(broken).rejects.toThrow('the disk is full')
  expect([runtime.starting.size, runtime.brokenOff.has(session)]).toEqual([0, true])
})
