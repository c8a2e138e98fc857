/**
 * JSON as people write it in settings, with comments and trailing commas. Adds one entry to the text and
 * leaves everything else as it is, to the byte. The result is parsed again and compared, so that a text that
 * was not understood is never written.
 */
import { isDeepStrictEqual } from 'node:util'

type Value = string | number | boolean | null | Value[] | { [name: string]: Value }
export type JsonObject = { [name: string]: Value }

/** Where an object's braces are, where its last member ends, and whether a comma follows that. */
type Node = {
  value: Value
  object: { open: number; close: number; end: number; comma: boolean; members: Map<string, Node> } | null
}

export class JsoncError extends Error {}

export const parseJsonc = (text: string): Value => parseNode(text).value

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
  const added = insert(whole, at.object, depth, name, value)
  if (!isDeepStrictEqual(parseJsonc(added), mergeEntry(root.value as JsonObject, path, entry)))
    throw new JsoncError('it is written in a way that cannot be changed safely')
  return added
}

function mergeEntry(object: JsonObject, [name = '', ...rest]: readonly string[], entry: Value): JsonObject {
  const value = rest.length === 0 ? entry : mergeEntry((object[name] ?? {}) as JsonObject, rest, entry)
  return { ...object, [name]: value }
}

function insert(
  text: string,
  object: NonNullable<Node['object']>,
  depth: number,
  name: string,
  value: Value,
): string {
  const unit = /\n([ \t]+)"/.exec(text)?.[1] ?? '  '
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const indent = unit.repeat(depth + 1)
  const lines = JSON.stringify(value, null, unit).replaceAll('\n', `${newline}${indent}`)
  const isEmpty = object.members.size === 0
  return [
    text.slice(0, object.end),
    isEmpty || object.comma ? '' : ',',
    // What is between the last member and the brace, such as a comment, stays before the new member.
    isEmpty ? '' : text.slice(object.end, object.close).trimEnd(),
    `${newline}${indent}${JSON.stringify(name)}: ${lines}${newline}`,
    unit.repeat(depth),
    text.slice(object.close),
  ].join('')
}

function parseNode(text: string): Node {
  let at = text.startsWith('\uFEFF') ? 1 : 0

  const fail = (what: string): never => {
    const lines = text.slice(0, at).split('\n')
    throw new JsoncError(`line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}: ${what}`)
  }
  /** Reads what matches here; null if nothing does. */
  function take(pattern: RegExp): string | null {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? null
    at += found?.length ?? 0
    return found
  }
  const skip = (): void => void take(/(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y)
  function scalar(): Value {
    const found = take(/"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y)
    return found === null
      ? fail(at >= text.length ? 'it ends too early' : 'a value is missing')
      : (JSON.parse(found) as Value)
  }
  /** Calls `member` for each, and returns where the last one ended and whether a comma followed it. */
  function members(close: string, member: () => void): { end: number; comma: boolean } {
    let last = { end: ++at, comma: false }
    for (skip(); text[at] !== close; skip()) {
      if (at >= text.length) fail(`"${close}" is missing`)
      member()
      last = { end: at, comma: false }
      skip()
      if (text[at] === ',') last = { end: ++at, comma: true }
      else if (text[at] !== close) fail(`a comma or "${close}" is missing`)
    }
    at++
    return last
  }
  function value(): Node {
    skip()
    const open = at
    if (text[at] === '[') {
      const items: Value[] = []
      members(']', () => items.push(value().value))
      return { value: items, object: null }
    }
    if (text[at] !== '{') return { value: scalar(), object: null }
    const found = new Map<string, Node>()
    const last = members('}', () => {
      const name = text[at] === '"' ? (scalar() as string) : fail('a name in quotes is missing')
      skip()
      if (text[at] !== ':') fail('a colon is missing')
      at++
      if (found.has(name)) fail(`"${name}" is there twice`)
      found.set(name, value())
    })
    return {
      value: Object.fromEntries([...found].map(([name, node]) => [name, node.value])),
      object: { open, close: at - 1, ...last, members: found },
    }
  }

  const node = value()
  skip()
  if (at < text.length) fail('something follows the end')
  return node
}
