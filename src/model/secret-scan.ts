/**
 * Finds the secrets in a text, in one pass from left to right.
 *
 * Every shape has a pair of characters that few texts have, and one look into a table says for each pair
 * whether anything is worth a look here.
 * What is then read is bounded, or is a run that is read once: the work is linear in the text by
 * construction, whatever the text is made of.
 */
import { hashMax, knownSecrets, nextHash } from './known-secrets.ts'
import { privateKey } from './secret-armour.ts'
import { namedValue } from './secret-named.ts'
import {
  addressPassword,
  azureSecret,
  discordToken,
  jsonWebToken,
  mayBegin,
  schemeToken,
  telegramToken,
  type Found,
  type Probe,
} from './secret-probes.ts'
import { Run, buildTable, type Alphabet, type Look } from './secret-runs.ts'
import { tokenShapes, type TokenShape } from './secret-shapes.ts'

/** The places of secrets in a text, in order and apart from each other; null where there are none. */
export type Places = readonly Found[] | null
export type Scan = {
  (text: string): Places
  /**
   * The same, in slices, between which others may run; what runs between them must not use this scan. Ask
   * for another one.
   */
  inSlices(text: string): Generator<undefined, Places>
}

const encodePair = (pair: string): number => ((pair.charCodeAt(0) & 127) << 7) | (pair.charCodeAt(1) & 127)
/** No secret is shorter, so shorter texts have none. */
export const textMin = 8
/**
 * Bytes are read faster than characters, so a text is copied in slices. Of a character beyond Latin-1 the
 * lower half is enough to decide whether it is worth a look.
 */
export const scanSliceUnits = 16_384
/** What a look takes into account are this character and the two before it. */
const overlap = 2
const dot = 46
/** The lists of probes that only a dot or a colon calls for. */
const [dotted, coloned] = [1, 2]
const opensValue = buildTable('"\'`\\')
const opensLater = buildTable('"\'`\\ \t')

export function secretScan(values: readonly string[], strict = false): Scan {
  const known = knownSecrets(values)
  const { probes, worth } = probeTable()
  const bytes = Buffer.alloc(scanSliceUnits)
  let number = 0
  const scanSlice = (base: number, length: number, state: State): void => {
    const { look } = state
    for (
      let at = nextHit(bytes, worth, known.hashes, 0, length);
      at < length;
      at = nextHit(bytes, worth, known.hashes, at + 1, length)
    ) {
      const place = base + at
      const one = tryAll(probes[worth[pairAt(bytes, at)] as number] as readonly Probe[], look, place)
      if (one !== null) {
        state.found.push(one)
        look.from = one.end
      }
      const other = place < state.knownFrom ? null : known.find(look.text, place, hashAt(bytes, at))
      if (other !== null) {
        state.found.push(other)
        state.knownFrom = other.end
      }
    }
  }
  const begin = (text: string): State => {
    number += 1
    return { look: { text, number, from: 0, strict }, knownFrom: 0, found: [] }
  }
  const scanAt = (base: number, text: string, state: State): void => {
    const slice = text.slice(base, base + scanSliceUnits)
    bytes.write(slice, 'latin1')
    scanSlice(base, slice.length, state)
  }
  const scan = (text: string): Places => {
    if (text.length < textMin) return null
    const state = begin(text)
    for (let base = 0; base + overlap < text.length; base += scanSliceUnits - overlap)
      scanAt(base, text, state)
    return merged(state.found)
  }
  function* inSlices(text: string): Generator<undefined, Places> {
    if (text.length < textMin) return null
    const state = begin(text)
    for (let base = 0; base + overlap < text.length; base += scanSliceUnits - overlap) {
      if (base > 0) yield
      scanAt(base, text, state)
    }
    return merged(state.found)
  }
  return Object.assign(scan, { inSlices })
}

/** What goes on from one slice to the next. */
type State = { look: Look; knownFrom: number; found: Found[] }

const byteAt = (bytes: Uint8Array, at: number): number => (at < 0 ? 0 : (bytes[at] as number))
const pairAt = (bytes: Uint8Array, at: number): number =>
  ((byteAt(bytes, at - 1) & 127) << 7) | (byteAt(bytes, at) & 127)
const hashAt = (bytes: Uint8Array, at: number): number =>
  nextHash(nextHash(byteAt(bytes, at - 2), byteAt(bytes, at - 1)), byteAt(bytes, at))

/** The next place that is worth a look, or the end. Calls only what the compiler inlines. Exported for its test. */
export function nextHit(
  bytes: Uint8Array,
  worth: Uint8Array,
  hashes: Uint8Array,
  from: number,
  length: number,
): number {
  let before = byteAt(bytes, from - 1)
  let hash = nextHash(byteAt(bytes, from - 2), before)
  for (let at = from; at < length; at += 1) {
    const code = bytes[at] as number
    const kind = worth[((before & 127) << 7) | (code & 127)] as number
    hash = ((hash << 4) ^ code) & hashMax
    before = code
    if (
      hashes[hash] !== 0 ||
      (kind !== 0 && (kind > coloned || at + 7 >= length || isLikely(bytes, at, kind)))
    )
      return at
  }
  return length
}

/**
 * Most dots and colons are those of sentences and of code. The only token that is found from a dot has a
 * second one at a fixed distance;
 * a name and a colon have a quote soon after, or blanks.
 */
const isLikely = (bytes: Uint8Array, at: number, kind: number): boolean =>
  kind === dotted
    ? bytes[at + 7] === dot
    : opensValue[bytes[at + 1] as number] === 1 || opensLater[bytes[at + 2] as number] === 1

function tryAll(probes: readonly Probe[], look: Look, at: number): Found | null {
  for (let next = 0; next < probes.length; next += 1) {
    const found = (probes[next] as Probe)(look, at)
    if (found !== null) return found
  }
  return null
}

type ProbeTable = {
  /** The number of the list of probes for each pair; 0 is none. */
  worth: Uint8Array
  probes: readonly (readonly Probe[])[]
}

/** Exported for its test. */
export function probeTable(): ProbeTable {
  const runs = new Map<Alphabet, Run>()
  const runFor = (alphabet: Alphabet): Run => {
    const run = runs.get(alphabet) ?? new Run(alphabet)
    runs.set(alphabet, run)
    return run
  }
  const byPair = new Map<number, Probe[]>()
  const put = (pair: string, probe: Probe): void =>
    void byPair.set(encodePair(pair), [...(byPair.get(encodePair(pair)) ?? []), probe])
  for (const shape of tokenShapes)
    for (const prefix of shape.prefixes) {
      const offset = rarestPair(prefix)
      put(prefix.slice(offset), prefixProbe(shape, prefix, offset, runFor(shape.alphabet)))
    }
  const [discord, named] = [discordToken(), namedValue()]
  for (const { pairs, probe } of [
    privateKey(),
    jsonWebToken(),
    addressPassword(),
    schemeToken(),
    telegramToken(),
    discord,
    azureSecret(),
    named,
  ])
    for (const pair of pairs) put(pair, probe)
  const probes: Probe[][] = [[], [discord.probe], [named.probe]]
  const worth = new Uint8Array(1 << 14)
  for (const [pair, list] of byPair) {
    const only = list.length === 1 ? list[0] : undefined
    worth[pair] =
      only === discord.probe
        ? dotted
        : only === named.probe && (pair & 127) === 58
          ? coloned
          : probes.push(list) - 1
  }
  return { probes, worth }
}

/**
 * Where the pair begins with the fewest small letters and dots, which are what most texts are made of. Exported
 * for its test.
 */
export function rarestPair(prefix: string): number {
  const rarity = (at: number): number => prefix.slice(at, at + 2).replaceAll(/[a-z.]/g, '').length
  return Array.from({ length: prefix.length - 1 }, (_, at) => at).reduce(
    (best, at) => (rarity(at) > rarity(best) ? at : best),
    0,
  )
}

/** Shorter ones that leave the machine are taken for tokens too. */
const strictMin = 10

function prefixProbe(
  { lengthMin, lengthMax = Infinity, needs, keepsPrefix }: TokenShape,
  prefix: string,
  offset: number,
  run: Run,
): Probe {
  const codes = Uint8Array.from(prefix.split(''), (one) => one.charCodeAt(0))
  return (look, at) => {
    const { text, strict } = look
    const start = at - 1 - offset
    if (start < look.from || !isAt(text, codes, start) || !mayBegin(look, start)) return null
    const body = start + prefix.length
    const end = run.solidEnd(look, body)
    const least = strict && lengthMax === Infinity ? Math.min(lengthMin, strictMin) : lengthMin
    if (end - body < least || end - body > lengthMax) return null
    if (!strict && ((needs === 'digit' && !run.hasDigit(body)) || (needs === 'chunk' && !run.hasChunk(body))))
      return null
    return { start: keepsPrefix === true ? body : start, end }
  }
}

/** Prefixes are short: comparing them here is quicker than calling for it. */
function isAt(text: string, codes: Uint8Array, start: number): boolean {
  for (let at = 0; at < codes.length; at += 1) if (text.charCodeAt(start + at) !== codes[at]) return false
  return true
}

/** Known secrets are looked for beside the shapes, and may lie across them. */
function merged(found: Found[]): Places {
  const all: Found[] = []
  let last: Found | null = null
  for (const one of found.sort((a, b) => a.start - b.start)) {
    if (last !== null && one.start <= last.end) last.end = Math.max(last.end, one.end)
    else all.push((last = one))
  }
  return last === null ? null : all
}
