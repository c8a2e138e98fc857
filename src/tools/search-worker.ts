/**
 * The walk and the matching of `search`, in a thread.
 * A pattern can take a regular-expression engine for ever; a thread can be ended from outside, the server's
 * own cannot.
 */
import { closeSync, fstatSync, readdirSync, readFileSync, type Dirent } from 'node:fs'
import { basename, join, matchesGlob } from 'node:path'
import { faultMessage } from '../model/contained.ts'
import { preview } from '../model/text.ts'
import { serveOrders } from '../runtime/kernel/worker-orders.ts'
import { isForeignLink, openFolder, openInside, pathTo, type Bounds } from './handles.ts'

export type SearchOrder = Bounds & {
  /** A real path, where to start. */
  start: string
  shownStart: string
  pattern: string
  glob: string | null
  matchesMax: number
}
export type Match = { path: string; line: number; text: string }
/** `badPattern`: why the pattern is none; then nothing was searched. */
export type SearchEnd = {
  filesSearched: number
  filesTooLarge: number
  linesCut: number
  full: boolean
  badPattern: string | null
}

const fileBytesMax = 1_048_576
const filesMax = 20_000
/**
 * Of a longer line only the start is looked at: it bounds what one match can cost, and such lines are
 * generated.
 */
export const lineUnitsMax = 20_000
const shownPointsMax = 240
const shownUnitsBefore = 80
const skipped = new Set(['.git', 'node_modules'])

type Walk = { files: number; tooLarge: number; cut: number; left: number }

/**
 * Depth first and sorted, so that the same tree gives the same answer. Gives links too; they are not followed
 * when opened, since they may lead out.
 */
function* filesBelow(
  bounds: Bounds,
  path: string,
  shown: string,
): Generator<{ path: string; shown: string }> {
  for (const entry of readEntries(bounds, path)) {
    const next = {
      path: join(path, entry.name),
      shown: shown === '.' ? entry.name : `${shown}/${entry.name}`,
    }
    if (entry.isDirectory() && !skipped.has(entry.name)) yield* filesBelow(bounds, next.path, next.shown)
    else yield next
  }
}

function readEntries(bounds: Bounds, path: string): Dirent[] {
  let folder: number | null = null
  try {
    folder = openFolder(bounds, path)
    if (folder === null) return []
    const entries = readdirSync(pathTo(folder, path), { withFileTypes: true })
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    // A directory that vanished or may not be read has nothing to find; the others still do.
    return []
  } finally {
    if (folder !== null) closeSync(folder)
  }
}

/** The text of a file; null if it is not text that can be searched. */
function readText(bounds: Bounds, path: string, walk: Walk): string | null {
  let file: number | null
  try {
    file = openInside(bounds, path)
  } catch {
    // Vanished, swapped for a link, or not readable: nothing to find here.
    return null
  }
  if (file === null) return null
  try {
    const stat = fstatSync(file, { bigint: true })
    if (!stat.isFile() || isForeignLink(stat)) return null
    if (stat.size > fileBytesMax) {
      walk.tooLarge += 1
      return null
    }
    const data = readFileSync(file)
    return data.includes(0) ? null : data.toString('utf8')
  } finally {
    closeSync(file)
  }
}

function matchesIn(text: string, shown: string, pattern: RegExp, walk: Walk): Match[] {
  const matches: Match[] = []
  const lines = text.split('\n')
  for (const [index, whole] of lines.entries()) {
    // What follows the last newline is a line only if something is there.
    if (walk.left === 0 || (index === lines.length - 1 && whole === '')) break
    if (whole.length > lineUnitsMax) walk.cut += 1
    const line =
      whole.length > lineUnitsMax
        ? whole.slice(0, wholePoints(whole, lineUnitsMax))
        : whole.replace(/\r$/, '')
    const at = line.search(pattern)
    if (at === -1) continue
    const start = wholePoints(line, Math.max(0, at - shownUnitsBefore))
    matches.push({ path: shown, line: index + 1, text: preview(line.slice(start), shownPointsMax) })
    walk.left -= 1
  }
  return matches
}

/** `at`, or one less where it would fall into a surrogate pair. */
function wholePoints(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at
}

/**
 * Whole code points where the pattern allows it; patterns with needless escapes, which models write, only
 * compile without.
 */
function compilePattern(pattern: string): RegExp | string {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    // Tried again without the flag; what is wrong then is said.
  }
  try {
    return new RegExp(pattern)
  } catch (error) {
    return faultMessage(error)
  }
}

function search(order: SearchOrder, tell: (matches: Match[]) => void): SearchEnd {
  const pattern = compilePattern(order.pattern)
  if (typeof pattern === 'string')
    return { filesSearched: 0, filesTooLarge: 0, linesCut: 0, full: false, badPattern: pattern }
  const walk: Walk = { files: 0, tooLarge: 0, cut: 0, left: order.matchesMax }
  const { glob } = order
  const wanted = (shown: string): boolean =>
    glob === null || matchesGlob(glob.includes('/') ? shown : basename(shown), glob)
  let full = false
  for (const file of filesAt(order)) {
    full = walk.left === 0 || walk.files === filesMax
    if (full) break
    if (!wanted(file.shown)) continue
    const text = readText(order, file.path, walk)
    if (text === null) continue
    walk.files += 1
    const matches = matchesIn(text, file.shown, pattern, walk)
    if (matches.length > 0) tell(matches)
  }
  return {
    filesSearched: walk.files,
    filesTooLarge: walk.tooLarge,
    linesCut: walk.cut,
    full: full || walk.left === 0,
    badPattern: null,
  }
}

/** The start may be a file: then it is the only one. */
function* filesAt(order: SearchOrder): Generator<{ path: string; shown: string }> {
  const found = readEntries(order, order.start)
  if (found.length === 0) yield { path: order.start, shown: order.shownStart }
  else yield* filesBelow(order, order.start, order.shownStart)
}

serveOrders<SearchOrder, Match[], SearchEnd>(search)
