import { expect, test } from 'vitest'
import type { Event } from '../../model/event.ts'
import { collectIds, normaliser } from './normalise.ts'

const opened = (boss: string, session: string): Event =>
  ({
    type: 'call.opened',
    session,
    turn: null,
    task: `look at ses_other for ${boss}`,
    grant: {
      path: [
        { session: boss, agent: 'boss' },
        { session, agent: 'coder' },
      ],
    },
    context: {},
  }) as unknown as Event

test('a session that only the path of a grant names is the same in a replay, whatever its id', () => {
  const texts = (['1', '2'] as const).map((n) => {
    const event = opened(`ses_boss${n}`, `ses_coder${n}`)
    return normaliser(collectIds([{ seq: 1, at: 0, event }]), () => false)(event)
  })
  expect(texts[0]).toBe(texts[1])
  expect(texts[0]).not.toContain('boss1')
  expect(texts[0]).toContain('look at ses_other')
})
