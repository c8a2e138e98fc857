/**
 * Real token counts, with the o200k_base encoding. Its table takes a moment to load, so it is loaded when
 * first needed.
 */
import { createRequire } from 'node:module'
import { ownFile } from '../../own-files.ts'
import type { CountTokens } from '../../model/text.ts'
import { nextRound } from '../../runtime/kernel/next-round.ts'

/**
 * The encoding merges within one piece (a word, a run of spaces or signs), in time that grows with the square
 * of the piece: 64,000 times "a" took 2 s. So a longer piece is cut into parts of this many UTF-16 units,
 * each counted alone. The count is exact for every text whose pieces are shorter, and off by a token or three
 * at each cut otherwise, in practice too high. A megabyte of random letters still takes about 2 s, of one
 * letter a few milliseconds: long texts are counted in slices (`gently`) wherever the caller can wait for it.
 */
const pieceUnitsMax = 256

/** What looks like a special token is ordinary text here: it comes from users and agents. */
const ordinary = { disallowedSpecial: new Set<string>() }

/** Words that came before are not merged again. */
const mergeCacheMax = 10_000
/** A text up to this length may be kept alive by the words that it shares with the cache. */
const cachedUnitsMax = 4096

type Encoding = typeof import('./o200k.ts')

let loaded: CountTokens | undefined

/**
 * Loads the table with the first text: that takes about a tenth of a second, in which nothing else is done.
 * There is one way to load it. While an `import()` of it is under way, `require` would throw.
 */
const load = (): CountTokens => (loaded ??= countWith(requireEncoding()))

export const loadTokenizer = async (): Promise<CountTokens> => load()

export const countTokens: CountTokens = Object.assign((text: string) => load()(text), {
  gently: async (text: string) => load().gently?.(text) ?? 0,
})

const requireEncoding = (): Encoding =>
  createRequire(import.meta.url)(ownFile('adapters/tokens/o200k')) as Encoding

function countWith({
  clearMergeCache,
  countTokens: counted,
  setMergeCacheSize,
  pieces,
}: Encoding): CountTokens {
  // Its keys are slices that keep the whole text alive: 2,000 texts of 100 kB with one rare word each held
  // 190 MB. So it is emptied after a long text.
  setMergeCacheSize(mergeCacheMax)
  const count = (text: string): number => counted(text, ordinary)
  const { known, gently } = gentleCount(pieces, count, clearMergeCache)
  const countShort = shortCount(pieces, count)
  const countNow = (text: string): number => {
    if (text.length <= cachedUnitsMax) return countShort(text)
    const tokens = known(text) ?? countLong(text, pieces, count)
    clearMergeCache()
    return tokens
  }
  return Object.assign(countNow, { gently })
}

/** A slice of fewer units is copied by the engine, so that it keeps no text alive. */
const copiedUnitsMax = 12

/**
 * Cut into pieces once, with the counts of usual words at hand: a search in the table of 200,000 ranks for each
 * piece, and a match with its place, take four times as long.
 */
function shortCount(pieces: RegExp, count: (text: string) => number): (text: string) => number {
  const known = new Map<string, number>()
  const countWord = (word: string): number => {
    const tokens = count(word)
    if (known.size >= mergeCacheMax) known.clear()
    known.set(word, tokens)
    return tokens
  }
  return (text) => {
    let tokens = 0
    for (const piece of text.match(pieces) ?? []) {
      if (piece.length <= copiedUnitsMax) tokens += known.get(piece) ?? countWord(piece)
      else tokens += piece.length <= pieceUnitsMax ? count(piece) : countPiece(piece, count)
    }
    return tokens
  }
}

/** So many units are counted at once: at worst some milliseconds. */
const sliceUnits = 512
/** Long texts whose counts are kept: the same text is asked for again soon. */
const keptTextsMax = 8

/** One long text after another, so that a slice of only one of them is counted before others run. */
function gentleCount(
  pieces: RegExp,
  count: (text: string) => number,
  clear: () => void,
): { known: (text: string) => number | undefined; gently: (text: string) => Promise<number> } {
  const kept = new Map<string, number>()
  let last: Promise<unknown> = Promise.resolve()
  const countInSlices = async (text: string): Promise<number> => {
    const known = kept.get(text)
    if (known !== undefined) return known
    const slices = countSlices(text, pieces, count)
    let step = slices.next()
    while (step.done !== true) {
      await nextRound()
      step = slices.next()
    }
    clear()
    if (kept.size >= keptTextsMax) kept.delete(kept.keys().next().value ?? '')
    kept.set(text, step.value)
    return step.value
  }
  return {
    known: (text) => kept.get(text),
    gently(text) {
      const counted = last.then(() => countInSlices(text))
      last = counted.catch(() => undefined)
      return counted
    },
  }
}

/** Cut between pieces, which count the same alone as together. */
function* countSlices(
  text: string,
  pieces: RegExp,
  count: (text: string) => number,
): Generator<undefined, number> {
  let tokens = 0
  let from = 0
  for (const { 0: piece, index } of text.matchAll(pieces)) {
    const end = index + piece.length
    if (piece.length <= pieceUnitsMax && end - from < sliceUnits) continue
    if (piece.length <= pieceUnitsMax) tokens += count(text.slice(from, end))
    else {
      if (index > from) tokens += count(text.slice(from, index))
      tokens += yield* countPieceInSlices(piece, count)
    }
    from = end
    yield
  }
  return from === text.length ? tokens : tokens + countLong(text.slice(from), pieces, count)
}

function countLong(text: string, pieces: RegExp, count: (text: string) => number): number {
  let tokens = 0
  let from = 0
  for (const { 0: piece, index } of text.matchAll(pieces)) {
    if (piece.length <= pieceUnitsMax) continue
    if (index > from) tokens += count(text.slice(from, index))
    tokens += countPiece(piece, count)
    from = index + piece.length
  }
  return from === text.length ? tokens : tokens + count(text.slice(from))
}

function countPiece(piece: string, count: (text: string) => number): number {
  const slices = countPieceInSlices(piece, count)
  for (;;) {
    const step = slices.next()
    if (step.done === true) return step.value
  }
}

/** Long pieces are mostly one sign over and over, so equal parts are counted once. */
function* countPieceInSlices(piece: string, count: (text: string) => number): Generator<undefined, number> {
  const known = new Map<string, number>()
  let tokens = 0
  let counted = 0
  for (let from = 0; from < piece.length;) {
    const to = partEnd(piece, from)
    const part = piece.slice(from, to)
    let partTokens = known.get(part)
    if (partTokens === undefined) {
      partTokens = count(part)
      known.set(part, partTokens)
      counted += part.length
    }
    tokens += partTokens
    from = to
    if (counted < sliceUnits) continue
    counted = 0
    yield
  }
  return tokens
}

/** Never between the two halves of a code point. */
function partEnd(piece: string, from: number): number {
  const to = Math.min(piece.length, from + pieceUnitsMax)
  const unit = piece.charCodeAt(to)
  return unit >= 0xdc00 && unit <= 0xdfff ? to - 1 : to
}
