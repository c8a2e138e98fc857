/**
 * JSON as people write it in settings, with comments and trailing commas, with the place of everything in it.
 * What changes such a text is in `jsonc-edit.ts`.
 */

export type Value = string | number | boolean | null | Value[] | { [name: string]: Value }
export type JsonObject = { [name: string]: Value }

/** Where the brackets are, where the last part ends, and whether a comma follows that. */
export type Inside = { open: number; close: number; end: number; comma: boolean }
export type Node = {
  value: Value
  /** Of a member: where its name begins. */
  start: number
  end: number
  object: (Inside & { members: Map<string, Node> }) | null
  array: (Inside & { items: Node[] }) | null
}

export class JsoncError extends Error {}

export const parseJsonc = (text: string): Value => parseNode(text).value

const neither = { object: null, array: null }
type Last = { end: number; comma: boolean }

const createArray = (start: number, end: number, last: Last, items: Node[]): Node => ({
  value: items.map((item) => item.value),
  start,
  end,
  object: null,
  array: { open: start, close: end - 1, ...last, items },
})

const createObject = (start: number, end: number, last: Last, members: Map<string, Node>): Node => ({
  value: Object.fromEntries([...members].map(([name, node]) => [name, node.value])),
  start,
  end,
  object: { open: start, close: end - 1, ...last, members },
  array: null,
})

export function parseNode(text: string): Node {
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
      const items: Node[] = []
      const last = members(']', () => items.push(value()))
      return createArray(open, at, last, items)
    }
    if (text[at] !== '{') return { value: scalar(), start: open, end: at, ...neither }
    const found = new Map<string, Node>()
    const last = members('}', () => {
      const start = at
      const name = text[at] === '"' ? (scalar() as string) : fail('a name in quotes is missing')
      skip()
      if (text[at] !== ':') fail('a colon is missing')
      at++
      if (found.has(name)) fail(`"${name}" is there twice`)
      found.set(name, { ...value(), start })
    })
    return createObject(open, at, last, found)
  }

  const node = value()
  skip()
  if (at < text.length) fail('something follows the end')
  return node
}
