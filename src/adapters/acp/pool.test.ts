import { expect, test } from 'vitest'
import type { SessionId, TurnId } from '../../model/id.ts'
import type { Alarm } from '../../runtime/kernel/alarm.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { Conversation } from './conversation.ts'
import { agentPool, idleMsMax } from './pool.ts'

const session: SessionId = 'ses_1'
const turn: TurnId = 'turn_1'

/** Time passes when it is told to. */
function ownAlarm(): Alarm & { pass: (ms: number) => void } {
  let now = 0
  const waiting = new Set<{ at: number; ring: () => void }>()
  return {
    after(ms, ring) {
      const entry = { at: now + ms, ring }
      waiting.add(entry)
      return () => void waiting.delete(entry)
    },
    stop: () => waiting.clear(),
    pass(ms) {
      now += ms
      for (const entry of [...waiting].filter(({ at }) => at <= now)) {
        waiting.delete(entry)
        entry.ring()
      }
    },
  }
}

function world() {
  const alarm = ownAlarm()
  const pool = agentPool(alarm, systemClock, (fault) => expect(fault).toBe(undefined))
  const seen = { opened: 0, closed: 0 }
  const take = () =>
    pool.take(session, async () => {
      seen.opened += 1
      const conversation = {
        ended: new Promise<string>(() => undefined),
        close: async () => void (seen.closed += 1),
      } as unknown as Conversation
      return { conversation, firstTurn: turn, forget: () => undefined }
    })
  return { alarm, pool, seen, take }
}

test('an agent that rests for ten minutes is closed, and opened again when it is needed', async () => {
  const { alarm, pool, seen, take } = world()
  await take()
  pool.rest(session)
  alarm.pass(idleMsMax - 1)
  expect(seen).toEqual({ opened: 1, closed: 0 })
  alarm.pass(1)
  await expect.poll(() => pool.size()).toBe(0)
  expect(seen).toEqual({ opened: 1, closed: 1 })
  await take()
  expect(seen).toEqual({ opened: 2, closed: 1 })
})

test('one that is taken before that keeps its process, and rests anew afterwards', async () => {
  const { alarm, pool, seen, take } = world()
  await take()
  pool.rest(session)
  alarm.pass(idleMsMax - 1)
  await take()
  alarm.pass(idleMsMax)
  expect(seen).toEqual({ opened: 1, closed: 0 })
  pool.rest(session)
  alarm.pass(idleMsMax - 1)
  expect(seen.closed).toBe(0)
  await pool.close()
  expect(seen).toEqual({ opened: 1, closed: 1 })
})
