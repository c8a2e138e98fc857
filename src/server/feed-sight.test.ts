/** One listener that may see some sessions only. */
import { describe, expect, test } from 'vitest'
import type { StoredEvent } from '../model/event.ts'
import type { SessionId } from '../model/id.ts'
import { createSight } from '../runtime/desk/sight.ts'
import type { SessionRow } from '../model/facts.ts'
import { notice, createLog, ticks, numbers, following } from '../../test/kits/followers.ts'

describe('what only some may see', () => {
  const parents: Record<string, SessionId | null> = {
    ses_own: null,
    ses_child: 'ses_own',
    ses_grandchild: 'ses_child',
    ses_other: null,
    ses_otherchild: 'ses_other',
  }
  let asked = 0
  const session = async (id: SessionId): Promise<SessionRow | null> => {
    asked += 1
    const parent = parents[id]
    return parent === undefined
      ? null
      : ({
          id: id as SessionId,
          agent: 'a',
          kind: 'persistent',
          parent,
          cwd: '/',
          title: '',
          createdAt: 0,
          archived: false,
          entries: 0,
          summary: null,
          summaryEntries: 0,
          model: null,
        } as never)
  }
  const sight = () => createSight({ session }, { kind: 'session', session: 'ses_own' })
  const sessions: SessionId[] = [
    'ses_other',
    'ses_own',
    'ses_grandchild',
    'ses_nobody',
    'ses_child',
    'ses_otherchild',
  ]

  test('is found out once for each session, and order holds while it is', async () => {
    const events = numbers(1, 60).map((seq) => notice(seq, sessions[seq % sessions.length]))
    const log = createLog(events.slice(0, 30))
    const { outlet, follower } = following(log, { sight: sight() })
    asked = 0
    follower.start(0, null)
    for (const event of events.slice(30)) {
      log.append(event)
      await Promise.resolve()
    }
    for (let n = 0; n < 20; n += 1) await ticks()
    expect(outlet.seqs()).toEqual(
      events
        .filter(({ event }) => ['ses_own', 'ses_child', 'ses_grandchild'].includes(event.session))
        .map(({ seq }) => seq),
    )
    expect(asked).toBeLessThan(15)
  })

  test('is read again from the log where more came than could wait', async () => {
    const log = createLog([notice(1, 'ses_other')])
    const { outlet, follower } = following(log, { sight: sight() })
    follower.start(0, null)
    await Promise.resolve()
    for (const seq of numbers(2, 1500))
      log.append(notice(seq, seq % 2 === 0 ? 'ses_child' : 'ses_otherchild'))
    for (let n = 0; n < 20; n += 1) await ticks()
    expect(outlet.seqs()).toEqual(numbers(1, 750).map((n) => n * 2))
  })

  test('a session that comes later is known by its parent, without asking', async () => {
    const log = createLog([], 'at once')
    const { outlet, follower } = following(log, { sight: sight() })
    follower.start(0, null)
    asked = 0
    const created = (seq: number, session: SessionId, parent: SessionId | null): StoredEvent => ({
      seq,
      at: 0,
      event: {
        type: 'session.created',
        session,
        turn: null,
        agent: 'a',
        kind: 'persistent',
        parent,
        cwd: '/',
        title: '',
        model: null,
        flow: null,
      } as StoredEvent['event'],
    })
    log.append(
      created(1, 'ses_new', 'ses_own'),
      created(2, 'ses_strange', null),
      created(3, 'ses_newer', 'ses_new'),
      notice(4, 'ses_newer'),
      notice(5, 'ses_strange'),
    )
    expect(outlet.seqs()).toEqual([1, 3, 4])
    expect(asked).toBe(0)
    log.delta({ session: 'ses_strange', turn: 'turn_1', epoch: 1, step: 1, offset: 0, text: 'secret' })
    log.delta({ session: 'ses_newer', turn: 'turn_1', epoch: 1, step: 1, offset: 0, text: 'shown' })
    expect(outlet.sent.at(-1)).toContain('shown')
    expect(outlet.sent.join()).not.toContain('secret')
  })

  test('a look-up that fails ends the listener, and shows nothing', async () => {
    const log = createLog([notice(1, 'ses_other')])
    const { outlet, follower, faults } = following(log, {
      sight: createSight(
        { session: () => Promise.reject(new Error('disk')) },
        { kind: 'session', session: 'ses_own' },
      ),
    })
    follower.start(0, null)
    await ticks()
    expect([outlet.sent, faults.length, log.listeners()]).toEqual([[], 1, 0])
  })
})
