/**
 * Chooses the entries of a conversation that a child is shown: age, roles, keywords, the last N, then what
 * fits.
 *
 * E1: The walk is from the newest entry and ends where nothing older can pass; what it has not read counts
 * under the reason that ended it. Passed and dropped add up to the total.
 * E2: Entries pass whole. The first one that does not fit ends the selection, so that nothing in the middle
 * is missing.
 * E3: Zero is zero: no budget, no last messages, no roles and no keywords let nothing pass.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Entry } from '../model/context.ts'
import type { EntryPage, EntrySelect } from '../runtime/kernel/store-port.ts'
import { readQuestion, resolveEntry, withQuestions } from './archive/moved-entries.ts'
import { findEntries, indexedEntries, keywordUnitsMin, type Kind } from './keyword-index.ts'
import { keywordMatcher, type KeywordMatcher } from './keyword-match.ts'
import { arrays, entryAt, entryColumns, prepareOnce, type RawArray } from './rows.ts'
import { findSegment, listSegments, type Segment } from './segments.ts'
import { runGently, unitsPerRow } from './slices.ts'

/** So many of the newest entries a search reads before it asks the index. */
const readEntriesMin = 64
/** So many it reads where the index cannot help, or names entries in vain. Then it gives up, and says so. */
const readEntriesMax = 2000
/** It goes on while one in so many passes: then reading is faster than asking the index. */
const readsPerPassed = 16
/** What an entry that passes for its steps alone counts as, or a whole history of them would seem to fit. */
const stepTokensMin = 4

/** Longer texts are read one by one. */
const textBytesAtOnceMax = 16_384
/** After so many units of text others may run. */
const unitsPerPause = 65_536

const pageEntriesMin = 16
const pageEntriesMax = 128

/** `text` null: it is long, and read only where it is needed. */
type Row = Omit<Entry, 'text'> & { text: string | null }

const statementsFor = prepareOnce((db) => {
  const columns = entryColumns.replace(
    'e.text',
    // A page of long texts would be read at once, whatever comes of it. One without a text may stand in a segment.
    `iif(octet_length(e.text) between 1 and ${textBytesAtOnceMax}, e.text, null)`,
  )
  const select = (rest: string): StatementSync =>
    arrays(db.prepare(`select ${columns} from entries e ${rest}`))
  return {
    total: db.prepare(
      `select n from entries where session = ?1
        union all select fork_n from sessions where id = ?1 order by n desc limit 1`,
    ),
    at: db.prepare('select at from entries where session = ? and n = ?'),
    text: db.prepare('select text from entries where session = ? and n = ?'),
    one: select('where session = ? and n = ?'),
    all: select('where session = ? and n < ? order by n desc limit +?'),
    stepped: select(
      'indexed by entries_steps where session = ? and has_steps = 1 and n < ? order by n desc limit +?',
    ),
  }
})
type Statements = ReturnType<typeof statementsFor>

/** A selection with what can be said about it before anything is read. */
type Plan = {
  db: DatabaseSync
  /** Where its entries stand, newest first. */
  segments: readonly Segment[]
  user: boolean
  assistant: boolean
  /** Entries with steps pass too. One that passes for them alone leaves its text behind. */
  tool: boolean
  /** Lower-cased, as the texts are for the comparison. */
  keywords: readonly string[] | null
  matcher: KeywordMatcher | null
  lastMax: number
  tokensMax: number
  oldestAt: number
  /** An entry further ahead is from before the wall clock was set back: its age is unknown. */
  newestAt: number
}

function makePlan(
  db: DatabaseSync,
  segments: readonly Segment[],
  { filter, now, tokensMax }: EntrySelect,
): Plan {
  const { roles, keywords, last_messages: lastMax = Infinity, max_age_seconds: ageMax = Infinity } = filter
  // Half of a surrogate pair cannot be stored, so it is compared as what would have been stored.
  const lower = keywords?.map((keyword) => keyword.toWellFormed().toLowerCase()) ?? null
  return {
    db,
    segments,
    lastMax,
    tokensMax,
    user: roles?.includes('user') ?? true,
    assistant: roles?.includes('assistant') ?? true,
    tool: roles?.includes('tool') ?? false,
    keywords: lower,
    matcher: lower === null ? null : keywordMatcher(lower),
    oldestAt: now - ageMax * 1000,
    newestAt: now + ageMax * 1000,
  }
}

/** Rows that may pass, newest first. Those left out before the next row count under `skipped`. */
type Walk = { rows: Iterable<Row>; skipped: 'roles' | 'keywords' | 'unsearched' }

function startWalk(db: DatabaseSync, sql: Statements, plan: Plan, passed: readonly Entry[]): Walk {
  const { segments, user, assistant, tool, keywords } = plan
  if (!user && !assistant && !tool) return { rows: [], skipped: 'roles' }
  if (keywords?.length === 0) return { rows: [], skipped: 'keywords' }
  if (keywords !== null) {
    const walk: Walk = { rows: [], skipped: 'keywords' }
    walk.rows = search(db, sql, plan, keywords, passed, () => (walk.skipped = 'unsearched'))
    return walk
  }
  const rows = user || assistant ? newestFirst(db, sql, segments) : inPages(sql.stepped, segments)
  return { rows, skipped: 'roles' }
}

function* newestFirst(db: DatabaseSync, sql: Statements, segments: readonly Segment[]): Generator<Row> {
  for (const segment of segments)
    yield* withQuestions(db, segment.session, inPages(sql.all, [segment]), segment)
}

/** Reads in pages that grow: never more than twice of what is needed, at half the cost of single rows. */
function* inPages(statement: StatementSync, segments: readonly Segment[]): Generator<Row> {
  let size = pageEntriesMin
  for (const { session, first, last } of segments) {
    for (let before = last + 1; before > first; size = Math.min(size * 2, pageEntriesMax)) {
      const page = (statement.all(session, before, size) as unknown[] as RawArray[]).map(entryAt)
      yield* page
      before = page.length < size ? first : (page.at(-1)?.n ?? first)
    }
  }
}

/** Reads the newest entries, then those that the index names. `giveUp` comes before it leaves any out. */
function* search(
  db: DatabaseSync,
  sql: Statements,
  plan: Plan,
  keywords: readonly string[],
  passed: readonly Entry[],
  giveUp: () => void,
): Generator<Row> {
  const { segments, user, assistant, tool } = plan
  // A keyword too short for the index may be anywhere: for it everything is unindexed.
  const short = keywords.some((keyword) => keyword.length < keywordUnitsMin)
  // Only answers have steps.
  const kinds: Kind[] = [
    ...(user ? ['user' as const] : []),
    ...(assistant || tool ? ['assistant' as const] : []),
  ]
  let reads = 0
  let vain = 0
  for (const segment of segments) {
    const { session, first, last } = segment
    const indexed = short ? first - 1 : Math.min(last, Math.max(first - 1, indexedEntries(db, session, last)))
    let before = last + 1
    for (const row of newestFirst(db, sql, [segment])) {
      const readsMax = (row.n > indexed ? readEntriesMax : readEntriesMin) + readsPerPassed * passed.length
      if (reads >= readsMax) break
      reads += 1
      before = row.n
      yield row
    }
    if (before === first) continue
    if (before > indexed + 1) giveUp()
    for (const n of findEntries(db, session, before, keywords, kinds)) {
      if (vain === readEntriesMax) return giveUp()
      const passedBefore = passed.length
      const raw = sql.one.get(session, n) as RawArray | undefined
      const row = raw === undefined ? readQuestion(db, session, n) : entryAt(raw)
      if (row === null) continue
      yield row
      vain = passed.length > passedBefore ? 0 : vain + 1
    }
  }
}

const isSpoken = (plan: Plan, row: Row): boolean => (row.role === 'user' ? plan.user : plan.assistant)

/** Why nothing of a row may be passed on; null if it may. */
function* sift(sql: Statements, plan: Plan, row: Row): Generator<undefined, 'roles' | 'keywords' | null> {
  if (!isSpoken(plan, row) && !(plan.tool && row.hasSteps)) return 'roles'
  return plan.matcher === null || (yield* plan.matcher.search(readText(sql, plan, row))) ? null : 'keywords'
}

function readText(sql: Statements, plan: Plan, row: Row): string {
  if (row.text !== null) return row.text
  const session = findSegment(plan.segments, row.n)?.session ?? ''
  const { text } = sql.text.get(session, row.n) as { text: string }
  return (row.text = resolveEntry(plan.db, session, { role: row.role, turn: row.turn, text }).text)
}

/** The newest of the first `count` entries that is too old, or 0: times never fall as numbers rise. */
function newestTooOld(sql: Statements, plan: Plan, count: number): number {
  if (plan.oldestAt === -Infinity) return 0
  let low = 0
  let high = count
  // A walk that reads everything stopped at the entry that is asked first.
  for (let n = count; low < high; n = Math.ceil((low + high) / 2)) {
    const session = findSegment(plan.segments, n)?.session ?? ''
    const { at } = (sql.at.get(session, n) as { at: number } | undefined) ??
      readQuestion(plan.db, session, n) ?? { at: 0 }
    if (at < plan.oldestAt) low = n
    else high = n - 1
  }
  return low
}

/** Why nothing more can pass, if so. */
function fullFor(plan: Plan, passed: number, tokens: number): 'last' | 'budget' | null {
  if (passed >= plan.lastMax) return 'last'
  return tokens >= plan.tokensMax ? 'budget' : null // E3
}

/** The entries that pass, and how many were dropped for which reason. */
export function selectEntries(db: DatabaseSync, session: string, select: EntrySelect): EntryPage {
  const selecting = selectInSlices(db, session, select)
  for (;;) {
    const step = selecting.next()
    if (step.done === true) return step.value
  }
}

/** The same, but others run after every slice: entries never change, so nothing is missed. */
export async function selectEntriesGently(
  db: DatabaseSync,
  session: string,
  select: EntrySelect,
): Promise<EntryPage> {
  return runGently(selectInSlices(db, session, select))
}

function* selectInSlices(
  db: DatabaseSync,
  session: string,
  select: EntrySelect,
): Generator<undefined, EntryPage> {
  const sql = statementsFor(db)
  const total = (sql.total.get(session) as { n: number } | undefined)?.n ?? 0
  const plan = makePlan(db, listSegments(db, session, total), select)
  const dropped = { age: 0, roles: 0, keywords: 0, last: 0, budget: 0, unsearched: 0 }
  const entries: Entry[] = []
  const walk = startWalk(db, sql, plan, entries)
  let tokens = 0
  let units = 0
  /** The first so many entries are not accounted for yet. */
  let left = total
  let full = fullFor(plan, 0, 0)
  for (const row of full === null ? walk.rows : []) {
    if (row.at < plan.oldestAt) break
    const reason = row.at > plan.newestAt ? 'age' : yield* sift(sql, plan, row)
    dropped[walk.skipped] += left - row.n
    left = row.n
    units += unitsPerRow + (row.text?.length ?? 0)
    if (units > unitsPerPause) {
      units = 0
      yield
    }
    if (reason !== null) {
      dropped[reason] += 1
      left -= 1
      continue
    }
    tokens += isSpoken(plan, row) ? row.tokens : stepTokensMin
    full = tokens > plan.tokensMax ? 'budget' : null // E2
    if (full !== null) break
    const isWhole = isSpoken(plan, row)
    entries.push({ ...row, ...(isWhole ? { text: readText(sql, plan, row) } : { text: '', tokens: 0 }) })
    left -= 1
    full = fullFor(plan, entries.length, tokens)
    if (full !== null) break
  }
  if (full === null) {
    const tooOld = newestTooOld(sql, plan, left)
    dropped[walk.skipped] += left - tooOld
    dropped.age += tooOld
  } else dropped[full] += left // E1
  entries.reverse()
  return { entries, total, dropped }
}
