/**
 * Sessions that programs are asked to make, on virtual time: who is asked, who is asked next, and when nobody
 * is left.
 */
import { expect, test } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'
import { createAlarm } from '../../runtime/kernel/alarm.ts'
import type { ToHost } from '../../wire/host.ts'
import { hostHub, type Host } from './hub.ts'
import { openMsMax, wantedSessions } from './wanted.ts'

type Program = Host & { asked: string[] }

function program(): Program {
  const asked: string[] = []
  return {
    asked,
    sessions: new Map(),
    place: { agent: 'mine', cwd: '/tmp' },
    send: (frame: ToHost) => void (frame.type === 'open' && asked.push(frame.sessionId)),
  }
}

const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** The ids of all sessions that wait, in pages of the size that is asked for. */
function wanting(waiting: SessionId[]) {
  const [hub, clock, failed] = [hostHub(), virtualClock(), [] as [SessionId, string][]]
  const due = async (_now: number, limit: number, after: SessionId | null = null) => {
    const page = waiting.filter((id) => after === null || id > after).slice(0, limit)
    return {
      calls: [],
      turns: [],
      lost: [],
      sessions: page,
      next: page.length === limit ? (page.at(-1) ?? null) : null,
    }
  }
  const session = async (id: SessionId) => ({
    id,
    agent: 'mine',
    kind: 'persistent' as const,
    parent: null,
    cwd: '/tmp',
    title: '',
    model: null,
    createdAt: 0,
    archived: false as const,
    entries: 0,
    summary: null,
    summaryEntries: 0,
  })
  const told = wantedSessions({
    hub,
    clock,
    alarm: createAlarm(clock, true),
    store: { due, session, read: async () => ({ events: [], next: 0, more: false, units: 0 }) },
    isHosted: () => true,
    fail: async (id, why) => void failed.push([id, why]),
    report: (fault) => {
      throw fault
    },
  })
  return { hub, clock, failed, told }
}

test('one that cannot is followed by the next, and what waits fails when none is left', async () => {
  const { hub, failed, told } = wanting([])
  const [first, second] = [program(), program()]
  hub.join(first)
  hub.join(second)
  told({ kind: 'turn.queued', session: 'ses_a' })
  await rest()
  expect([first.asked, second.asked]).toEqual([['ses_a'], []])
  hub.cannot(second, 'ses_a', 'was not asked')
  hub.cannot(first, 'ses_a', 'no room')
  expect([second.asked, failed]).toEqual([['ses_a'], []])
  hub.cannot(second, 'ses_a', 'no room either')
  expect(failed).toEqual([['ses_a', expect.stringContaining('no room either')]])
})

test('one that never answers, and one that goes, are followed by the next too', async () => {
  const { hub, clock, failed, told } = wanting([])
  const [first, second, third] = [program(), program(), program()]
  for (const one of [first, second, third]) hub.join(one)
  told({ kind: 'turn.queued', session: 'ses_a' })
  await rest()
  hub.detach(first)
  expect(second.asked).toEqual(['ses_a'])
  const start = clock.now()
  while (third.asked.length === 0 && clock.tick()) await rest()
  expect([third.asked, clock.now() - start, failed]).toEqual([['ses_a'], openMsMax, []])
  // Brought in time: what is late for others is not late for it.
  hub.attach(third, 'ses_a', 'own')
  while (clock.tick()) await rest()
  expect(failed).toEqual([])
})

test('a program that comes is asked for everything that waits, however much', async () => {
  const waiting = Array.from({ length: 600 }, (_, n): SessionId => `ses_${String(n).padStart(4, '0')}`)
  const { hub } = wanting(waiting)
  const one = program()
  hub.join(one)
  for (let n = 0; n < 5000 && one.asked.length < waiting.length; n += 1) await rest()
  expect(one.asked).toEqual(waiting)
})
