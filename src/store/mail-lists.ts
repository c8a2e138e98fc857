/**
 * Lists of mail. Which messages are on a page is known without their texts; those are read one by one, until
 * the page is full.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { SessionId } from '../model/id.ts'
import { pageUnitsMax } from '../model/limits.ts'
import { idSuffix } from '../model/mail.ts'
import type { Lists } from '../runtime/kernel/lists-port.ts'
import { listWaiting, messageRow, parseRow, prepareMail, readCounts, readFacts, readMessage } from './mail.ts'
import type { MailStatements, MessageRead } from './mail.ts'
import { arrays, type RawArray } from './rows.ts'
import { runGently, unitsPerRow, unitsPerSlice } from './slices.ts'

type MailPage = Awaited<ReturnType<Lists['mail']['dead']>>

/** Read the log for more of a thread than this. */
const threadMax = 10_000

function prepare(db: DatabaseSync) {
  const one = (sql: string) => arrays(db.prepare(sql))
  const newest = (where: string) =>
    one(`${messageRow} where ${where} and m.updated_seq < ?1 order by m.updated_seq desc limit +?2`)
  return {
    drafts: newest(`m.state = 'draft' and m.owner = ?3`),
    allDrafts: newest(`m.state = 'draft'`),
    dead: newest(`m.state = 'dead'`),
    thread: one(`with recursive
        up(id, above) as (
          select id, in_reply_to from messages where id = ?1
          union select r.id, r.in_reply_to from up join messages r on r.id = up.above),
        down(id) as (
          select id from up where above is null or not exists (select 1 from messages where id = up.above)
          union select r.id from down
            join messages r on r.in_reply_to = down.id and r.in_reply_to is not null limit ${threadMax})
      ${messageRow} where m.id in (select id from down) and m.created_seq > ?2`),
    /** Mail for sessions that a call made, and that have nothing live any more. */
    stranded: one(
      `select distinct m.receiver from messages m where m.fleeting = 1 and m.receiver > ''
        and not exists (select 1 from turns where live = 1 and session = m.receiver and pending = 1)
        limit +?`,
    ),
  }
}

export function mailLists(db: DatabaseSync): Lists['mail'] {
  const statements = { ...prepareMail(db), ...prepare(db) }
  const last = Number.MAX_SAFE_INTEGER
  const parse = (raws: unknown): MessageRead[] => (raws as RawArray[]).map(parseRow)
  const newestPage = (raws: unknown, limit: number): Promise<MailPage> =>
    runGently(fill(statements, parse(raws), limit, ({ row }) => row.updatedSeq))
  return {
    message: async (id) => readMessage(statements, id),
    inbox(session, { after, unitsMax, ...ask }) {
      const reads = listWaiting(statements, session, ask, after ?? 0)
      const place = ({ row, sentSeq }: MessageRead): number => sentSeq ?? row.updatedSeq
      return runGently(fill(statements, reads, ask.limit, place, unitsMax))
    },
    counts: async (session) => readCounts(statements, session),
    drafts: (owner, before, limit) =>
      newestPage(
        owner === null
          ? statements.allDrafts.all(before ?? last, limit)
          : statements.drafts.all(before ?? last, limit, owner),
        limit,
      ),
    thread(id, after, limit) {
      const reads = parse(statements.thread.all(idSuffix(id), after))
        .toSorted((a, b) => a.row.createdSeq - b.row.createdSeq)
        .slice(0, limit)
      return runGently(fill(statements, reads, limit, ({ row }) => row.createdSeq))
    },
    dead: (before, limit) => newestPage(statements.dead.all(before ?? last, limit), limit),
    stranded: async (limit) =>
      (statements.stranded.all(limit) as unknown as RawArray[]).map((raw) => raw[0] as SessionId),
  }
}

/** Yields after every slice. What was sent does not change; of a draft it is the text of its moment. */
function* fill(
  statements: MailStatements,
  reads: readonly MessageRead[],
  limit: number,
  place: (read: MessageRead) => number,
  unitsMax = pageUnitsMax,
): Generator<undefined, MailPage> {
  const messages: MailPage['messages'] = []
  let [units, looked, next] = [0, 0, null as number | null]
  for (const [index, read] of reads.entries()) {
    const before = statements.events.looked
    const facts = readFacts(statements, read)
    messages.push(facts)
    units += facts.text.length + facts.initial.length
    const isLast = index === reads.length - 1
    if (isLast ? reads.length >= limit : units > unitsMax) {
      next = place(read)
      break
    }
    looked += unitsPerRow + statements.events.looked - before
    if (looked <= unitsPerSlice) continue
    looked = 0
    yield
  }
  return { messages, next }
}
