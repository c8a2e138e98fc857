/**
 * Values that a text gives to a name: `OPENAI_API_KEY=…`, `"password": "…"`, `token = '…'`. Found from the
 * `=` or `:` between them.
 * Without quotes only an assignment counts, and only where the value was made by chance: code assigns names
 * to names all day.
 */
import { afterScheme, type Found, type ProbeSet } from './secret-probes.ts'
import { Run, buildTable, type Look } from './secret-runs.ts'
import { isAssignedName, isOwnId, isSecretField, nameMax } from './secret-shapes.ts'

const isName = buildTable('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-')
const isQuote = buildTable('"\'`')
/** Names of secrets end with one of these. */
const nameEnds = ['ey', 'ys', 'en', 'et', 'rd', 'wd', 'se', 'on', 'ie', 'al', 'ls', 'ss', 'at', 'ig'].flatMap(
  (end) => [end, end.toUpperCase()],
)
const lastLetters = [...new Set(nameEnds.map((end) => end.slice(1)))]
const isNameEnd = new Uint8Array(1 << 14)
for (const end of nameEnds) isNameEnd[(end.charCodeAt(0) << 7) | end.charCodeAt(1)] = 1
const [space, tab, backslash, colon, equals, greater, dot] = [32, 9, 92, 58, 61, 62, 46]
const blanksMax = 4
const shareMin = 32

export function namedValue(): ProbeSet {
  const runs = { value: new Run('value'), assigned: new Run('assigned'), plain: new Run('plain') }
  const probe = (look: Look, at: number): Found | null => {
    const { text } = look
    const assigns = text.charCodeAt(at) === equals
    const spaced = afterBlanks(text, at + (assigns && text.charCodeAt(at + 1) === greater ? 2 : 1))
    const open = afterBackslashes(text, spaced)
    const isQuoted = isQuote[text.charCodeAt(open)] === 1
    if (!assigns && !isQuoted) return null
    const name = nameBefore(text, at, look.from)
    if (name === null) return null
    const isVariable = isAssignedName(name)
    if (!isVariable && !isSecretField(name) && !(name === 'sig' && !isQuoted)) return null
    if (isQuoted) return quoted(look, open + 1, runs.value)
    return isVariable && spaced === at + 1
      ? assigned(look, spaced, runs.assigned)
      : plain(look, spaced, runs.plain)
  }
  const before = [...lastLetters, '"', "'", '`', ' ', '\t']
  return { pairs: [...before.flatMap((one) => [`${one}:`, `${one}=`]), ':='], probe }
}

/** Read back to the separator before it at most, so no character is read back twice. */
function nameBefore(text: string, at: number, from: number): string | null {
  let end = at
  if (text.charCodeAt(at) === equals && text.charCodeAt(end - 1) === colon) end -= 1
  for (let count = 0; count < blanksMax && isBlank(text.charCodeAt(end - 1)); count += 1) end -= 1
  if (isQuote[text.charCodeAt(end - 1)] === 1) {
    end -= 1
    for (let count = 0; count < blanksMax && text.charCodeAt(end - 1) === backslash; count += 1) end -= 1
  }
  if (end - 2 < from || isNameEnd[(text.charCodeAt(end - 2) << 7) | text.charCodeAt(end - 1)] !== 1)
    return null
  let start = end
  while (start > from && end - start <= nameMax && isName[text.charCodeAt(start - 1)] === 1) start -= 1
  return text.slice(start, end)
}

const isBlank = (code: number): boolean => code === space || code === tab

function afterBlanks(text: string, from: number): number {
  let at = from
  while (at < from + blanksMax && isBlank(text.charCodeAt(at))) at += 1
  return at
}

function afterBackslashes(text: string, from: number): number {
  let at = from
  while (at < from + blanksMax && text.charCodeAt(at) === backslash) at += 1
  return at
}

function quoted(look: Look, from: number, run: Run): Found | null {
  const { text, strict } = look
  const scheme = afterScheme(text, from)
  const start = scheme < 0 ? from : scheme
  const end = run.end(look, start)
  if (end - start < (strict ? 6 : 8) || !(strict || run.isMixed(start))) return null
  return isId(text, start, end) ? null : { start, end }
}

function assigned(look: Look, start: number, run: Run): Found | null {
  const { text, strict } = look
  const end = run.solidEnd(look, start)
  if (end - start < (strict ? 8 : 10) || !(strict || run.isMixed(start))) return null
  return goesOn(text, end) || isId(text, start, end) ? null : { start, end }
}

const isId = (text: string, start: number, end: number): boolean =>
  isOwnId(text.slice(start, Math.min(end, start + nameMax + 1)))

/** Padding may follow. */
function plain(look: Look, start: number, run: Run): Found | null {
  const { text, strict } = look
  const last = run.end(look, start)
  if (last - start < (strict ? 8 : 16)) return null
  const random = run.isMixed(start) && (run.changesOften(start) || last - start >= shareMin)
  if (!(strict || random) || goesOn(text, last) || isId(text, start, last)) return null
  let end = last
  while (end < last + 2 && text.charCodeAt(end) === equals) end += 1
  return { start, end }
}

/** Code that is called, indexed or asked for a field, not a value; a dot that nothing follows ends a sentence. */
const goesOn = (text: string, end: number): boolean =>
  text.charCodeAt(end) === dot
    ? isName[text.charCodeAt(end + 1)] === 1 && text.charCodeAt(end + 1) !== dot
    : end < text.length && '([{'.includes(text.charAt(end))
