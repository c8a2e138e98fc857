/**
 * Adds to JSON as people write it, takes out of it, and leaves everything else as it is, to the byte. The result is
 * parsed again and compared, so that a text that was not understood is never written.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  JsoncError,
  parseJsonc,
  parseNode,
  type Inside,
  type JsonObject,
  type Node,
  type Value,
} from './jsonc.ts'

/** Adds `entry` at `path`, and missing objects on the way. Throws a JsoncError if that is not safe. */
export function addEntry(text: string, path: readonly string[], entry: Value): string {
  const whole = text.trim() === '' ? '{}\n' : text
  const root = parseNode(whole)
  let at = root
  let depth = 0
  for (; depth < path.length - 1; depth++) {
    const next = at.object?.members.get(path[depth] ?? '')
    if (next === undefined) break
    at = next
  }
  if (at.object === null)
    throw new JsoncError(`${depth === 0 ? 'the file' : path.slice(0, depth).join('.')} is not an object`)
  const name = path[depth] ?? ''
  if (at.object.members.has(name)) throw new JsoncError(`${path.join('.')} is there already`)
  const value = path.slice(depth + 1).reduceRight<Value>((inner, key) => ({ [key]: inner }), entry)
  const added = insert(whole, at.object, at.object.members.size, depth, `${JSON.stringify(name)}: `, value)
  if (!isDeepStrictEqual(parseJsonc(added), mergeEntry(root.value as JsonObject, path, entry)))
    throw new JsoncError('it is written in a way that cannot be changed safely')
  return added
}

function mergeEntry(object: JsonObject, [name = '', ...rest]: readonly string[], entry: Value): JsonObject {
  const value = rest.length === 0 ? entry : mergeEntry((object[name] ?? {}) as JsonObject, rest, entry)
  return { ...object, [name]: value }
}

/** Adds `item` at the end of the list at `path`, which is made where it is missing. */
export function addItem(text: string, path: readonly string[], item: Value): string {
  const list = findNode(parseNode(text.trim() === '' ? '{}' : text), path)
  if (list === null) return addEntry(text, path, [item])
  if (list.array === null) throw new JsoncError(`${path.join('.')} is not a list`)
  const added = insert(text, list.array, list.array.items.length, path.length, '', item)
  if (!isDeepStrictEqual(findNode(parseNode(added), path)?.value, [...(list.value as Value[]), item]))
    throw new JsoncError('it is written in a way that cannot be changed safely')
  return added
}

function insert(
  text: string,
  inside: Inside,
  count: number,
  depth: number,
  name: string,
  value: Value,
): string {
  const unit = /\n([ \t]+)"/.exec(text)?.[1] ?? '  '
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const indent = unit.repeat(depth + 1)
  const lines = JSON.stringify(value, null, unit).replaceAll('\n', `${newline}${indent}`)
  return [
    text.slice(0, inside.end),
    count === 0 || inside.comma ? '' : ',',
    // What is between the last part and the bracket, such as a comment, stays before the new part.
    text.slice(inside.end, inside.close).trimEnd(),
    `${newline}${indent}${name}${lines}${newline}`,
    unit.repeat(depth),
    text.slice(inside.close),
  ].join('')
}

/** Something that was added to a file: the member at `path`, or an item of the list there. */
export type Part = { path: readonly string[]; value: Value; isItem: boolean }

/** What is at `path`, or null. */
export const findNode = (root: Node, path: readonly string[]): Node | null =>
  path.reduce<Node | null>((at, name) => at?.object?.members.get(name) ?? null, root)

export const readAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (at, name) => (at !== null && typeof at === 'object' ? (at as JsonObject)[name] : undefined),
    value,
  )

/**
 * The text without what was added. What is not there any more needs no removing; undefined where it was changed.
 * Objects and lists on the way that are empty then go too, unless `wasThere` says that they were there before.
 */
export function removePart(
  text: string,
  { path, value, isItem }: Part,
  wasThere: (path: readonly string[]) => boolean,
): string | undefined {
  const root = parseNode(text)
  const found = findNode(root, path)
  if (found === null) return text
  if (!isItem)
    return isDeepStrictEqual(found.value, value) ? removeMember(text, root, path, wasThere) : undefined
  const items = found.array?.items ?? []
  const at = items.findIndex((item) => isDeepStrictEqual(item.value, value))
  if (found.array === null || at === -1) return text
  const without = cut(text, found.array, items, at)
  if (items.length > 1 || wasThere(path)) return without
  return removeMember(without, parseNode(without), path, wasThere)
}

function removeMember(
  text: string,
  root: Node,
  path: readonly string[],
  wasThere: (path: readonly string[]) => boolean,
): string {
  const outer = path.slice(0, -1)
  const object = findNode(root, outer)?.object
  const names = [...(object?.members.keys() ?? [])]
  const at = names.indexOf(path.at(-1) ?? '')
  if (object == null || at === -1) return text
  const without = cut(text, object, [...object.members.values()], at)
  if (outer.length === 0 || names.length > 1 || wasThere(outer)) return without
  return removeMember(without, parseNode(without), outer, wasThere)
}

/** Without its comma, which only white space and comments come before. */
function dropComma(gap: string): string {
  const before = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y.exec(gap)?.[0] ?? ''
  return gap[before.length] === ',' ? before + gap.slice(before.length + 1) : gap
}

/** Cuts one part out, with its own comma or the one before it. Comments before it stay. */
function cut(text: string, inside: Inside, parts: readonly Node[], at: number): string {
  const [before, part, after] = [parts[at - 1], parts[at], parts[at + 1]]
  if (part === undefined) return text
  if (after !== undefined) return text.slice(0, part.start) + text.slice(after.start)
  const from = before?.end ?? inside.open + 1
  const gap = text.slice(from, part.start)
  const kept = before === undefined || inside.comma ? gap : dropComma(gap)
  const rest = text.slice(inside.end, inside.close)
  const isEmpty = before === undefined && `${kept}${rest}`.trim() === ''
  return [
    text.slice(0, from),
    isEmpty ? '' : kept.trimEnd(),
    isEmpty ? '' : rest,
    text.slice(inside.close),
  ].join('')
}
