import { expect, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'
import type { Alarm } from '../../runtime/kernel/alarm.ts'
import type { Conversation } from './conversation.ts'
import { agentPool } from './pool.ts'

test('R11: of agents that rest the one that rested longest is closed, and never one that works', async () => {
  const alarm: Alarm = { after: () => () => undefined, stop: () => undefined }
  const clock = virtualClock()
  const closed: string[] = []
  const pool = agentPool(alarm, clock, (fault) => expect(fault).toBe(undefined))
  const take = (session: SessionId) =>
    pool.take(session, async () => {
      const close = async (): Promise<void> => void closed.push(session)
      const conversation = { ended: new Promise<string>(() => undefined), close } as unknown as Conversation
      return { conversation, firstTurn: 'turn_1', forget: () => undefined }
    })
  const rest = async (session: SessionId): Promise<void> => {
    await take(session)
    void clock.sleep(1)
    clock.tick()
    pool.rest(session)
  }
  for (let n = 0; n < 16; n += 1) await rest(`ses_${n}`)
  // It rested longest, and works again.
  await take('ses_0')
  for (const session of ['ses_16', 'ses_17'] as const) await rest(session)
  expect(closed).toEqual(['ses_1'])
})
