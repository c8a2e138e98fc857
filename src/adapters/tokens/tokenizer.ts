/** Real token counts, with the o200k_base encoding. Its table takes a moment to load, so it is loaded when first needed. */
import { createRequire } from 'node:module'
import { ownFile } from '../../own-files.ts'
import type { CountTokens } from '../../model/text.ts'

/**
 * The encoding merges within one piece (a word, a run of spaces or signs), in time that grows with the square of the piece: 64,000 times "a" took 2 s.
 * So a longer piece is cut into parts of this many UTF-16 units, each counted alone. The count is exact for every text whose pieces are shorter,
 * and off by a token or three at each cut otherwise, in practice too high. A megabyte of random letters then takes about 2 s, of one letter a few milliseconds.
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
let loading: Promise<CountTokens> | undefined

export function loadTokenizer(): Promise<CountTokens> {
  return (loading ??= import('./o200k.ts').then((encoding) => (loaded ??= countWith(encoding))))
}

/** Loads the table with the first text, unless somebody did so before: that takes about a tenth of a second, in which nothing else is done. */
export const countTokens: CountTokens = (text) => (loaded ??= countWith(requireEncoding()))(text)

const requireEncoding = (): Encoding => createRequire(import.meta.url)(ownFile('adapters/tokens/o200k')) as Encoding

function countWith({ clearMergeCache, countTokens: counted, setMergeCacheSize, pieces }: Encoding): CountTokens {
  // Its keys are slices that keep the whole text alive: 2,000 texts of 100 kB with one rare word each held 190 MB. So it is emptied after a long text.
  setMergeCacheSize(mergeCacheMax)
  const count: CountTokens = (text) => counted(text, ordinary)
  return (text) => {
    if (text.length <= pieceUnitsMax) return count(text)
    const tokens = countLong(text, pieces, count)
    if (text.length > cachedUnitsMax) clearMergeCache()
    return tokens
  }
}

function countLong(text: string, pieces: RegExp, count: CountTokens): number {
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

/** Long pieces are mostly one sign over and over, so equal parts are counted once. */
function countPiece(piece: string, count: CountTokens): number {
  const known = new Map<string, number>()
  let tokens = 0
  for (let from = 0; from < piece.length; ) {
    const to = partEnd(piece, from)
    const part = piece.slice(from, to)
    const partTokens = known.get(part) ?? count(part)
    known.set(part, partTokens)
    tokens += partTokens
    from = to
  }
  return tokens
}

/** Never between the two halves of a code point. */
function partEnd(piece: string, from: number): number {
  const to = Math.min(piece.length, from + pieceUnitsMax)
  const unit = piece.charCodeAt(to)
  return unit >= 0xdc00 && unit <= 0xdfff ? to - 1 : to
}
