/** Agent processes by session: one each, closed when they have rested long enough, and all of them at the end. */
import type { SessionId, TurnId } from '../../model/id.ts'
import type { Alarm } from '../../runtime/kernel/alarm.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import type { Conversation } from './conversation.ts'
import type { Counted } from './usage.ts'

export const idleMsMax = 600_000
/** R11: of processes that only wait for their next turn. The one that has waited longest is closed first. */
const restingMax = 16

export type OpenAgent = {
  conversation: Conversation
  firstTurn: TurnId
  /** Counts the processes of this pool. */
  opened: number
  /** Whether it was asked something before. */
  used: boolean
  /** Whether its MCP client has reached us. */
  connected: boolean
  /** What its process had counted before the present prompt. */
  counted: Counted
  /** The same of the dollars that it says. */
  countedUsd: number
}

const untouched = () => ({ used: false, connected: false, counted: { input: 0, output: 0 }, countedUsd: 0 })

type Entry = { open: OpenAgent; forget: () => void; restingSince: number | null; offAlarm: () => void }

export function agentPool(alarm: Alarm, clock: Clock, report: (fault: unknown) => void) {
  const entries = new Map<SessionId, Entry>()
  /** Ends that are under way: closing waits for them. */
  const ending = new Set<Promise<void>>()
  let opened = 0
  let closed = false
  const drop = async (session: SessionId): Promise<void> => {
    const entry = entries.get(session)
    if (entry === undefined) return
    entries.delete(session)
    entry.offAlarm()
    entry.forget()
    const end = entry.open.conversation.close().catch(report)
    ending.add(end)
    await end
    ending.delete(end)
  }
  const closeOldest = (): void => {
    const resting = [...entries].filter(([, entry]) => entry.restingSince !== null)
    if (resting.length <= restingMax) return
    const [oldest] = resting.toSorted(([, a], [, b]) => (a.restingSince ?? 0) - (b.restingSince ?? 0))
    if (oldest !== undefined) void drop(oldest[0])
  }
  return {
    size: () => entries.size + ending.size,
    drop,
    /** The process of this session, or a new one. */
    async take(
      session: SessionId,
      start: () => Promise<{ conversation: Conversation; firstTurn: TurnId; forget: () => void }>,
    ): Promise<OpenAgent> {
      const known = entries.get(session)
      if (known !== undefined) {
        known.offAlarm()
        known.restingSince = null
        return known.open
      }
      if (closed) throw new Error('we are shutting down')
      const { conversation, firstTurn, forget } = await start()
      opened += 1
      const open: OpenAgent = { conversation, firstTurn, opened, ...untouched() }
      const entry: Entry = { open, forget, restingSince: null, offAlarm: () => undefined }
      entries.set(session, entry)
      // One that ends by itself is not waited for, and leaves nobody behind.
      void conversation.ended.then(() => (entries.get(session) === entry ? drop(session) : undefined))
      if (closed) await drop(session)
      return open
    },
    /** Its turn is over: it is closed after this long, unless it is taken before. */
    rest(session: SessionId, ms: number = idleMsMax): void {
      const entry = entries.get(session)
      if (entry === undefined) return
      if (ms === 0) return void drop(session)
      entry.restingSince = clock.elapsed()
      entry.offAlarm = alarm.after(ms, () => void drop(session))
      closeOldest()
    },
    async close(): Promise<void> {
      closed = true
      await Promise.all([...entries.keys()].map(drop))
      await Promise.all(ending)
    },
  }
}
