import type { HistoryEntry } from '../../../src/wire/sessions.ts'
import type { StreamedEvent } from '../../../src/wire/log.ts'
import type { Live } from '../live/live.ts'

export type History = {
  readonly topic: string
  /** How many entries there are; null until the first page is read. */
  total(): number | null
  entry(n: number): HistoryEntry | undefined
  /** Reads the page of an entry unless it is already there. */
  want(n: number): void
  problem(): unknown
  /** True if the newest page was read before the stream of events began: what ended in between is in neither. */
  isEarly(): boolean
  /** Reads the newest page again. */
  refresh(): void
  stop(): void
}

const pageSize = 50
/** R11: the oldest pages are dropped. */
const pagesMax = 60

export function openHistory(live: Live, session: string): History {
  const topic = `history:${session}`
  const pages = new Map<number, Map<number, HistoryEntry>>()
  const asked = new Set<number>()
  const stopped = new AbortController()
  let total: number | null = null
  let problem: unknown = null
  let isEarly = false

  const put = (entry: HistoryEntry): void => {
    const page = findPage(entry.n)
    const known = pages.get(page) ?? new Map<number, HistoryEntry>()
    pages.delete(page)
    pages.set(page, known.set(entry.n, entry))
    total = Math.max(total ?? 0, entry.n)
  }
  /** The newest page, or what stands before `before` down to `n`: long entries make pages short. */
  const load = async (before: number | null, n: number): Promise<void> => {
    try {
      for (let end = before; ;) {
        const { messages, next } = await live.client.sessions.history(
          session,
          { limit: pageSize, ...(end === null ? {} : { before: end }) },
          { signal: stopped.signal },
        )
        total ??= 0
        messages.forEach(put)
        if (next === null || next <= n) break
        end = next
      }
      problem = null
      for (const page of pages.keys()) if (pages.size > pagesMax) pages.delete(page)
    } catch (error) {
      if (!stopped.signal.aborted) problem = error
    }
    live.topics.touch(topic)
  }
  const want = (n: number): void => {
    const page = findPage(n)
    if (asked.has(page) || pages.get(page)?.has(n) === true) return
    asked.add(page)
    const end = (page + 1) * pageSize + 1
    let before = n + 1
    while (before < end && pages.get(page)?.has(before) !== true) before += 1
    void load(before, n).finally(() => asked.delete(page))
  }
  const unsubscribe = live.onEvent((streamed) => {
    const entries = streamed.event.session === session ? buildEntries(live, streamed) : []
    entries.forEach(put)
    if (entries.length > 0) live.topics.touch(topic)
  })
  const refresh = (): void => {
    isEarly = live.connection().state !== 'open'
    void load(null, Infinity)
  }
  refresh()
  return {
    topic,
    want,
    total: () => total,
    entry: (n) => pages.get(findPage(n))?.get(n),
    problem: () => problem,
    isEarly: () => isEarly,
    refresh,
    stop() {
      unsubscribe()
      stopped.abort()
    },
  }
}

const findPage = (n: number): number => Math.floor((n - 1) / pageSize)

/** The entries that a turn added when it ended. */
function buildEntries(live: Live, { at, event }: StreamedEvent): HistoryEntry[] {
  if (event.type !== 'turn.ended' || event.entry === null || event.turn === null) return []
  const { n, asked, answered, from, startedAt } = event.entry
  const turn = live.ledger.turns.get(event.turn)
  const sender = turn?.from ?? from
  const none = {
    from: null,
    fromAgent: null,
    applet: null,
    messageId: null,
    source: null,
    outcome: null,
    error: null,
    toolCalls: [],
  }
  const senderAgent =
    sender === null
      ? null
      : (live.ledger.sessions.get(sender)?.agentName ?? live.ledger.sessions.get(sender)?.agent ?? null)
  return [
    {
      ...none,
      n,
      role: 'user',
      text: asked,
      at: startedAt,
      turn: event.turn,
      source: turn?.source ?? (from === null ? 'user' : 'agent'),
      from: sender as HistoryEntry['from'],
      fromAgent: senderAgent,
      applet: turn?.applet ?? null,
      messageId: turn?.message ?? null,
    },
    {
      ...none,
      n: n + 1,
      role: 'assistant',
      text: answered,
      at,
      turn: event.turn,
      toolCalls: event.toolCalls,
      outcome: event.outcome,
      error: event.error,
    },
  ]
}
