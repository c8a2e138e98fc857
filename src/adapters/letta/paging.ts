/**
 * Pages of lists, by the id of an item: `after` and `before` mean after and before it in the order that was
 * asked for. An id that is not there gives an empty page, which ends a client's walk.
 */
import type { SessionId } from '../../model/id.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import type { SessionDesk } from '../../runtime/desk/sessions.ts'
import type { ListQuery } from './requests.ts'
import { entryMessage, entryNumber, type LettaMessage } from './wire.ts'
import type { AgentView } from '../../wire/agents.ts'

/** Agents made by API, oldest first; ids decide between those of one moment. */
export function agentsPage(views: readonly AgentView[], query: ListQuery): AgentView[] {
  const wanted = views.filter(
    (view) =>
      view.origin === 'api' &&
      (query.name === undefined || view.name === query.name) &&
      (query.query_text === undefined || view.name.toLowerCase().includes(query.query_text.toLowerCase())),
  )
  const sorted = wanted.toSorted((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0) || (a.id < b.id ? -1 : 1))
  if (query.order === 'desc') sorted.reverse()
  const after = query.after === undefined ? -1 : sorted.findIndex(({ id }) => id === query.after)
  const before =
    query.before === undefined ? sorted.length : sorted.findIndex(({ id }) => id === query.before)
  if ((query.after !== undefined && after < 0) || before < 0) return []
  const between = sorted.slice(after + 1, before)
  return walksBack(query) ? between.slice(-query.limit) : between.slice(0, query.limit)
}

/** With `before` alone the page ends there; otherwise it begins where the order begins. */
const walksBack = (query: ListQuery): boolean => query.before !== undefined && query.after === undefined

/**
 * Entries are numbered from 1 without gaps, so that a page is a range of numbers, and a long conversation is
 * never read as a whole. Long texts make a page short, on the side where the client goes on; clients go on
 * until a page is empty.
 */
export async function messagesPage(
  sessions: Pick<SessionDesk, 'history'>,
  session: SessionId,
  query: ListQuery,
): Promise<LettaMessage[] | Refusal> {
  const [low, high] = (query.order === 'asc' ? [query.after, query.before] : [query.before, query.after]).map(
    (id) => (id === undefined ? undefined : entryNumber(session, id)),
  )
  if (low === null || high === null) return []
  const fromOldest = (query.order === 'asc') !== walksBack(query)
  const after = fromOldest ? (low ?? 0) : undefined
  const page = await sessions.history(session, { before: high, after, limit: query.limit })
  if (isRefusal(page)) return page
  const messages = page.messages
    .filter(({ n }) => n > (low ?? 0))
    .map((entry) => entryMessage(session, entry))
  return query.order === 'asc' ? messages : messages.reverse()
}
