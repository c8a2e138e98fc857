/**
 * Tells which parts of a long conversation may contain a keyword, so that a search reads those and not the history.
 *
 * Texts are cut into words. A word is known to its conversation by a number, found by any of its endings; a posting says that a word, or a word and the one after it, is in a chunk of entries.
 * A keyword inside one word is found through the endings that begin with it, one that spans words through pairs of neighbours. What an entry's author, its answerer and its steps say is kept
 * apart, so that a keyword that only answers contain costs nothing to a search of questions. Trigrams would be simpler, but common ones are in every chunk: a word made of them that is nowhere reads everything.
 *
 * K1: The index may name a chunk in vain, it never leaves one out; who asks checks the text itself. Both see the lower-cased text and nothing else.
 * K2: What a search costs depends on how many words match and on what it finds, not on the length of the history.
 * K3: It is a view: the same entries in the same order make the same rows.
 */
import assert from 'node:assert/strict'
import type { DatabaseSync, StatementSync } from 'node:sqlite'

export const keywordSchema = `
create table keyword_sessions (number integer primary key, session text not null unique, chunks integer not null, words integer not null) strict;
create table keyword_words (vocabulary integer not null, word text not null, id integer not null, primary key (vocabulary, word)) strict, without rowid;
create table keyword_endings (vocabulary integer not null, ending text not null, word integer not null, primary key (vocabulary, ending, word)) strict, without rowid;
create table keyword_postings (stream integer not null, word integer not null, next integer not null, chunk integer not null, primary key (stream, word, next, chunk)) strict, without rowid;
`

/** What a rebuild empties. */
export const keywordTables = ['keyword_sessions', 'keyword_words', 'keyword_endings', 'keyword_postings'] as const

/** Chunk `c`, from 1, is the entries after `(c - 1) * chunkEntries` up to `c * chunkEntries`. */
export const chunkEntries = 32

/** Shorter conversations are read faster than they are looked up, and most are shorter. */
const unindexedEntriesMax = 256
/** A conversation that becomes long is caught up with over a few turns, so that no transaction has to do it all. */
const chunksPerCallMax = 2

const wordUnitsMax = 36
const wordStride = 16
const endingUnitsMax = 16
/** With no more matching words than this, all are looked up at once. */
const wordsFew = 64
const wordsMax = 4096
const pairsMax = 256
/** So many chunks are tried unseen where many words match, because then most chunks have one of them. */
const guessesMax = 16

/** Ids of words stay below this, so that a pair of them is an exact number. */
const idsMax = 2 ** 26

/** Whether a code unit belongs to a word depends on nothing but itself: what is a word in a keyword is part of a word in the text. */
const wordPattern = /[^\0-/:-@[-^`{-\x7f\s\u2000-\u206f\u3000-\u303f\uff00-\uff0f]+/g

/** Sorts after everything that a word may go on with. */
const beyond = '\u{10ffff}'.repeat(wordUnitsMax)

export type Kind = 'user' | 'assistant' | 'steps'
const streams = { user: 0, assistant: 1, steps: 2 } as const satisfies Record<Kind, number>
const vocabularyOf = (number: number, kind: Kind): number => number * 2 + (kind === 'steps' ? 1 : 0)
const streamOf = (number: number, kind: Kind): number => number * 4 + streams[kind]

type SessionRow = { number: number; chunks: number; words: number }

function prepare(db: DatabaseSync) {
  return {
    session: db.prepare('select number, chunks, words from keyword_sessions where session = ?'),
    open: db.prepare('insert into keyword_sessions (session, chunks, words) values (?, 0, 0) returning number, chunks, words'),
    close: db.prepare('update keyword_sessions set chunks = ?, words = ? where number = ?'),
    texts: db.prepare('select role, text, steps from entries where session = ? and n between ? and ? order by n'),
    word: db.prepare('select id from keyword_words where vocabulary = ? and word = ?'),
    addWord: db.prepare('insert into keyword_words (vocabulary, word, id) values (?, ?, ?)'),
    addEnding: db.prepare('insert into keyword_endings (vocabulary, ending, word) values (?, ?, ?) on conflict do nothing'),
    addPosting: db.prepare('insert into keyword_postings (stream, word, next, chunk) values (?, ?, ?, ?)'),
    containing: db.prepare('select word as id from keyword_endings where vocabulary = ? and ending >= ? and ending < ? limit ?'),
    ending: db.prepare('select word as id from keyword_endings where vocabulary = ? and ending = ? limit ?'),
    starting: db.prepare('select id from keyword_words where vocabulary = ? and word >= ? and word < ? limit ?'),
    newest: db.prepare('select chunk from keyword_postings where stream = ? and word = ? and next = ? and chunk <= ? order by chunk desc limit 1'),
  } satisfies Record<string, StatementSync>
}
type Statements = ReturnType<typeof prepare>

const prepared = new WeakMap<DatabaseSync, Statements>()
function statementsOf(db: DatabaseSync): Statements {
  let statements = prepared.get(db)
  if (statements === undefined) prepared.set(db, (statements = prepare(db)))
  return statements
}

const isLow = (text: string, index: number): boolean => (text.charCodeAt(index) & 0xfc00) === 0xdc00

/** A part of a text that does not cut a pair of surrogates: SQLite would store something else for half of one. */
function cut(text: string, start: number, unitsMax: number): string {
  const end = start + unitsMax
  return text.slice(start, end < text.length && isLow(text, end) ? end - 1 : end)
}

/** A run too long for a word becomes several that overlap, so that any part of up to `endingUnitsMax` units lies within one of them. */
function piecesOf(run: string): string[] {
  const pieces: string[] = []
  for (let nominal = 0; ; nominal += wordStride) {
    const start = isLow(run, nominal) ? nominal - 1 : nominal
    pieces.push(cut(run, start, wordUnitsMax))
    if (start + wordUnitsMax >= run.length) return pieces
  }
}

/** Call it after entries were inserted, in the same transaction. `count` is how many the session now has. */
export function indexEntries(db: DatabaseSync, session: string, count: number): void {
  if (count <= unindexedEntriesMax) return
  const sql = statementsOf(db)
  const row = (sql.session.get(session) ?? sql.open.get(session)) as SessionRow
  const complete = Math.min(Math.floor(count / chunkEntries), row.chunks + chunksPerCallMax)
  if (complete <= row.chunks) return
  while (row.chunks < complete) {
    row.chunks += 1
    indexChunk(sql, session, row)
  }
  sql.close.run(row.chunks, row.words, row.number)
}

function indexChunk(sql: Statements, session: string, row: SessionRow): void {
  const postings: Record<Kind, Set<number>> = { user: new Set(), assistant: new Set(), steps: new Set() }
  const ids: Record<'text' | 'steps', Map<string, number>> = { text: new Map(), steps: new Map() }
  const first = (row.chunks - 1) * chunkEntries + 1
  const entries = sql.texts.all(session, first, first + chunkEntries - 1) as { role: 'user' | 'assistant'; text: string; steps: string | null }[]
  for (const entry of entries) {
    addText(sql, row, entry.role, entry.text, ids.text, postings[entry.role])
    if (entry.steps !== null) addText(sql, row, 'steps', entry.steps, ids.steps, postings.steps)
  }
  for (const kind of ['user', 'assistant', 'steps'] as const) {
    // In the order of the table, so that neighbours share pages.
    const stream = streamOf(row.number, kind)
    for (const pair of Float64Array.from(postings[kind]).sort()) sql.addPosting.run(stream, Math.floor(pair / idsMax), pair % idsMax, row.chunks)
  }
}

function addText(sql: Statements, row: SessionRow, kind: Kind, text: string, ids: Map<string, number>, postings: Set<number>): void {
  const vocabulary = vocabularyOf(row.number, kind)
  let before = 0
  for (const run of text.toLowerCase().match(wordPattern) ?? []) {
    let last = 0
    for (const [index, word] of piecesOf(run).entries()) {
      let id = ids.get(word)
      if (id === undefined) ids.set(word, (id = idOf(sql, row, vocabulary, word)))
      postings.add(id * idsMax)
      if (index === 0 && before !== 0) postings.add(before * idsMax + id)
      last = id
    }
    before = last
  }
}

function idOf(sql: Statements, row: SessionRow, vocabulary: number, word: string): number {
  const known = sql.word.get(vocabulary, word) as { id: number } | undefined
  if (known !== undefined) return known.id
  row.words += 1
  const id = row.words
  assert(id < idsMax, 'a conversation has too many different words')
  sql.addWord.run(vocabulary, word, id)
  for (let start = 0; start < word.length; start += 1) if (!isLow(word, start)) sql.addEnding.run(vocabulary, cut(word, start, endingUnitsMax), id)
  return id
}

/** The newest chunk, not above `atMost`, that may match; 0 is none. Asked with ever smaller numbers. */
type Source = (atMost: number) => number

const nowhere: Source = () => 0
const anywhere: Source = (atMost) => atMost

function either(sources: readonly Source[]): Source {
  return (atMost) => {
    let found = 0
    for (const source of sources) if (found < atMost) found = Math.max(found, source(atMost))
    return found
  }
}

function both(sources: readonly Source[]): Source {
  return (atMost) => {
    let chunk = atMost
    for (let agreed = 0, index = 0; agreed < sources.length && chunk > 0; index = (index + 1) % sources.length) {
      const found = sources[index]?.(chunk) ?? 0
      agreed = found === chunk ? agreed + 1 : 1
      chunk = found
    }
    return chunk
  }
}

/** Chunks that have one of the postings. Each is looked up once, and again when it was the newest. */
function anyOf(sql: Statements, stream: number, postings: readonly (readonly [number, number])[]): Source {
  const heads = new Float64Array(postings.length).fill(Infinity)
  return (atMost) => {
    let found = 0
    for (const [index, [word, next]] of postings.entries()) {
      let head = heads[index] ?? 0
      if (head > atMost) heads[index] = head = (sql.newest.get(stream, word, next, atMost) as { chunk: number } | undefined)?.chunk ?? 0
      if (head > found) found = head
    }
    return found
  }
}

/** Words as a statement finds them. Many are read only when looking at the newest chunks has not been enough. */
function anyWord(sql: Statements, stream: number, read: (limit: number) => number[]): Source {
  const few = read(wordsFew + 1)
  const single = (ids: readonly number[]) => anyOf(sql, stream, ids.map((id) => [id, 0] as const))
  if (few.length === 0) return nowhere
  if (few.length <= wordsFew) return single(few)
  let guesses = 0
  let source: Source | null = null
  return (atMost) => {
    guesses += 1
    if (guesses <= guessesMax) return atMost
    if (source === null) {
      const many = read(wordsMax + 1)
      source = many.length > wordsMax ? anywhere : single(many)
    }
    return source(atMost)
  }
}

/** A word may come twice; leaving one out here would make a cut list look complete. */
const idsFrom = (rows: unknown): number[] => (rows as { id: number }[]).map((row) => row.id)

/** Chunks where a word that may end in `left` stands before one that may begin with `right`. A fragment with text on both sides is a whole word. */
function neighbours(sql: Statements, vocabulary: number, stream: number, left: string, right: string, whole: { left: boolean; right: boolean }): Source {
  const exactly = (word: string) => idsFrom(sql.word.all(vocabulary, word))
  const isWord = (fragment: string): boolean => fragment.length < wordUnitsMax - 1
  const tailAt = Math.max(0, left.length - endingUnitsMax + 2)
  const tail = left.slice(isLow(left, tailAt) ? tailAt + 1 : tailAt)
  const head = cut(right, 0, wordUnitsMax - 2)
  const readLeft = (limit: number) => (whole.left && isWord(left) ? exactly(left) : idsFrom(sql.ending.all(vocabulary, tail, limit)))
  const readRight = (limit: number) => (whole.right && isWord(right) ? exactly(right) : idsFrom(sql.starting.all(vocabulary, head, head + beyond, limit)))
  const lefts = readLeft(wordsFew + 1)
  const rights = readRight(wordsFew + 1)
  const complete = lefts.length <= wordsFew && rights.length <= wordsFew
  if (complete && lefts.length * rights.length <= pairsMax) return anyOf(sql, stream, lefts.flatMap((word) => rights.map((next) => [word, next] as const)))
  return anyWord(sql, stream, lefts.length < rights.length ? readLeft : readRight)
}

function sourceOf(sql: Statements, number: number, kind: Kind, keyword: string): Source {
  const fragments = keyword.match(wordPattern) ?? []
  const vocabulary = vocabularyOf(number, kind)
  const stream = streamOf(number, kind)
  const [only] = fragments
  if (only === undefined) return anywhere
  if (fragments.length === 1) {
    const start = cut(only, 0, endingUnitsMax)
    return anyWord(sql, stream, (limit) => idsFrom(sql.containing.all(vocabulary, start, start + beyond, limit)))
  }
  const begins = keyword.startsWith(only)
  const ends = keyword.endsWith(fragments.at(-1) ?? '')
  const pairs = fragments.slice(1).map((right, index) =>
    neighbours(sql, vocabulary, stream, fragments[index] ?? '', right, { left: index > 0 || !begins, right: index + 2 < fragments.length || !ends }),
  )
  return both(pairs)
}

/** Where lower-cased `keywords` may be in the indexed part of a session: its first `chunks` chunks. */
export function findChunks(db: DatabaseSync, session: string, keywords: readonly string[], kinds: readonly Kind[]): { chunks: number; newest: Source } {
  const sql = statementsOf(db)
  const row = sql.session.get(session) as SessionRow | undefined
  if (row === undefined) return { chunks: 0, newest: nowhere }
  let source: Source | null = null
  const newest: Source = (atMost) => {
    source ??= either(kinds.flatMap((kind) => keywords.map((keyword) => sourceOf(sql, row.number, kind, keyword))))
    return source(atMost)
  }
  return { chunks: row.chunks, newest }
}
