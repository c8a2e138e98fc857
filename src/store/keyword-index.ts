/**
 * Tells which entries of a long conversation may contain a keyword, so that a search reads those and not the
 * history.
 *
 * Every place in a text is indexed by the few characters that begin there, its gram. A keyword no longer than
 * a gram is the beginning of one; a longer one is several that an entry must all have.
 * Grams carry their conversation and who speaks, so that nothing is read for other conversations, nor for
 * answers where questions are searched. FTS5 keeps them, because it writes in runs:
 * a plain index would touch a page for nearly every gram. One entry is one document: in larger ones the grams
 * of a word that is nowhere would often meet by accident.
 *
 * K1: The index may name an entry in vain, it never leaves one out; who asks checks the text itself. Both see
 * the lower-cased text and nothing else.
 * K2: What a search costs depends on how often its keyword is there, not on the length of the history.
 * K3: It is a view: the same entries, appended in the same order, make the same index.
 */
import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import { resolveEntry, withQuestions } from './archive/moved-entries.ts'
import { prepareOnce } from './rows.ts'

/** Merging is done here, a little with every chunk; FTS5 on its own would sometimes do much at once. */
export const keywordSchema = `
create table keyword_sessions (
  number integer primary key, session text not null unique, entries integer not null,
  long_texts integer not null
) strict;
create virtual table keyword_grams using fts5 (
  grams, content = '', detail = none, columnsize = 0, tokenize = "ascii tokenchars '_-'");
insert into keyword_grams (keyword_grams, rank) values ('automerge', 0), ('crisismerge', 64), ('pgsz', 2000);
`

/** For a rebuild, which then appends all entries again. */
export function clearKeywordIndex(db: DatabaseSync): void {
  db.exec(`delete from keyword_sessions; insert into keyword_grams (keyword_grams) values ('delete-all')`)
}

/** Shorter ones would be the beginning of too many grams. */
export const keywordUnitsMin = 3
const gramUnits = 6
/** Of a long keyword the rest is left to the check of the text: every gram more is a list to go through. */
const gramsPerKeywordMax = 4
const gramDistanceMin = 3
/** Longer texts are not taken apart, which would hold up the store, but named for every keyword. */
const textUnitsMax = 16_384

const chunkEntries = 32
/** Shorter conversations are read faster than they are looked up, and most are shorter. */
const unindexedEntriesMax = 256
/** A conversation that becomes long is indexed over a few turns, not in one transaction. */
const chunksPerCallMax = 2
/** As many pages are merged as keep pace with what is added. */
const gramCharactersPerMergedPage = 400

const pageEntriesMin = 32
const pageEntriesMax = 16_384

/** Numbers of documents are a conversation's number and an entry's. */
const entriesMax = 2 ** 24

export type Kind = 'user' | 'assistant'
/** They end a conversation's number, so that no prefix begins another. */
const marks = { user: '_', assistant: '-' } as const satisfies Record<Kind, string>
const makePrefix = (number: number, kind: Kind): string => number.toString(36) + marks[kind]
/** Not a gram: those of one unit are not indexed. */
const longText = '_'

type SessionRow = { number: number; entries: number; long_texts: number }
type TextRow = { n: number; role: Kind; text: string; turn: string }

const statementsFor = prepareOnce((db) => ({
  session: db.prepare('select number, entries, long_texts from keyword_sessions where session = ?'),
  /** What a fork shares is indexed where it was written. */
  open: db.prepare(
    `insert into keyword_sessions (session, entries, long_texts)
      values (?1, coalesce((select fork_n from sessions where id = ?1), 0), 0)
      returning number, entries, long_texts`,
  ),
  indexed: db.prepare('update keyword_sessions set entries = ?, long_texts = ? where number = ?'),
  texts: db.prepare(
    'select n, role, text, turn from entries where session = ? and n between ? and ? order by n desc',
  ),
  add: db.prepare('insert into keyword_grams (rowid, grams) values (?, ?)'),
  merge: db.prepare(`insert into keyword_grams (keyword_grams, rank) values ('merge', ?)`),
  match: db.prepare(
    `select rowid as document from keyword_grams where keyword_grams match ? and rowid < ?
      order by rowid desc limit ?`,
  ),
}))

/** Maps each code unit to one that FTS5 takes for part of a token. Some become the same, which K1 allows. */
function fold(lower: string): string {
  return lower.replace(/[^a-z0-9\x80-\ud7ff\ue000-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0)
    if (unit === ' ') return '_'
    return String.fromCharCode(code < 0x80 ? 0x100 + code : 0x800 + code)
  })
}

/** Call it after entries were inserted, in the same transaction. `count` is how many the session now has. */
export function indexEntries(db: DatabaseSync, session: string, count: number): void {
  if (count <= unindexedEntriesMax) return
  assert(count < entriesMax, 'a conversation has too many entries')
  const sql = statementsFor(db)
  const row = (sql.session.get(session) ?? sql.open.get(session)) as SessionRow
  for (let chunks = 0; chunks < chunksPerCallMax && row.entries + chunkEntries <= count; chunks += 1) {
    const [first, last] = [row.entries + 1, row.entries + chunkEntries]
    const kept = sql.texts.all(session, first, last) as TextRow[]
    const entries = [...withQuestions<TextRow>(db, session, kept, { first, last })].reverse()
    let added = 0
    for (const { n, role, text } of entries.map((entry) => resolveEntry(db, session, entry))) {
      const grams = listGrams(makePrefix(row.number, role), text)
      sql.add.run(row.number * entriesMax + n, grams)
      added += grams.length
      if (text.length > textUnitsMax) row.long_texts += 1
    }
    row.entries += chunkEntries
    sql.indexed.run(row.entries, row.long_texts, row.number)
    sql.merge.run(Math.ceil(added / gramCharactersPerMergedPage))
  }
}

function listGrams(prefix: string, text: string): string {
  if (text.length > textUnitsMax) return `${prefix}${longText} `
  const folded = fold(text.toLowerCase())
  let grams = ''
  // The last ones are shorter than a gram, for keywords at the end of the text.
  for (let start = 0; start + keywordUnitsMin <= folded.length; start += 1)
    grams += `${prefix}${folded.slice(start, start + gramUnits)} `
  return grams
}

/** The query for one folded keyword: its beginning where it is short, otherwise some of its grams. */
function makeQuery(prefix: string, keyword: string): string {
  if (keyword.length < gramUnits) return `"${prefix}${keyword}"*`
  return `(${chooseStarts(keyword)
    .map((start) => `"${prefix}${keyword.slice(start, start + gramUnits)}"`)
    .join(' AND ')})`
}

/** Two grams cover a short keyword; of a longer one the rarest are taken, since time goes into long lists. */
function chooseStarts(keyword: string): number[] {
  const lastStart = keyword.length - gramUnits
  if (lastStart <= gramUnits) return lastStart === 0 ? [0] : [0, lastStart]
  const rarity = Array.from({ length: lastStart + 1 }, (_, start) =>
    rateRarity(keyword.slice(start, start + gramUnits)),
  )
  const starts = rarity.map((_, start) => start).sort((a, b) => (rarity[b] ?? 0) - (rarity[a] ?? 0) || a - b)
  const chosen: number[] = []
  for (const start of starts) {
    if (chosen.every((other) => Math.abs(other - start) >= gramDistanceMin)) chosen.push(start)
    if (chosen.length === gramsPerKeywordMax) break
  }
  return chosen
}

const rateRarity = (gram: string): number => {
  let rarity = 0
  for (const unit of gram) rarity += '_etaoinsr'.includes(unit) ? 0 : 'hldcumfpg'.includes(unit) ? 1 : 2
  return rarity
}

/** How many entries of a session of `count` are indexed: always its first. */
export function indexedEntries(db: DatabaseSync, session: string, count: number): number {
  if (count <= unindexedEntriesMax) return 0
  return (statementsFor(db).session.get(session) as SessionRow | undefined)?.entries ?? 0
}

/** Indexed entries below `before` that may contain one of the lower-cased keywords, newest first. */
export function* findEntries(
  db: DatabaseSync,
  session: string,
  before: number,
  keywords: readonly string[],
  kinds: readonly Kind[],
): Generator<number> {
  const sql = statementsFor(db)
  const row = sql.session.get(session) as SessionRow | undefined
  const folded = keywords.filter((keyword) => keyword.length >= keywordUnitsMin).map(fold)
  if (row === undefined || folded.length === 0) return
  const prefixes = kinds.map((kind) => makePrefix(row.number, kind))
  const queries = prefixes.flatMap((prefix) => folded.map((keyword) => makeQuery(prefix, keyword)))
  if (row.long_texts > 0) queries.push(...prefixes.map((prefix) => `"${prefix}${longText}"`))
  const first = row.number * entriesMax
  const query = queries.join(' OR ')
  // In pages, and not from an open statement: others use the same one while this search lets them run. Each
  // page asks anew, so they grow fast.
  let size = pageEntriesMin
  for (let last = first + before; ; size = Math.min(size * 8, pageEntriesMax)) {
    const page = sql.match.all(query, last, size) as { document: number }[]
    for (const { document } of page) yield document - first
    if (page.length < size) return
    last = page.at(-1)?.document ?? first
  }
}
