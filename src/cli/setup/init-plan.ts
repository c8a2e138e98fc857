/**
 * What `tieline init` would write: worked out whole before anything is touched. A file that is not understood
 * is left alone, and whoever asked gets the entry to paste.
 */
import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parse as parseToml } from 'smol-toml'
import type { McpClient, Scope, Surroundings, Target, Way } from './init-entries.ts'
import { parseJsonc, withEntry, type JsonObject } from './jsonc.ts'

export type Planned = {
  what: string
  file: string
  /**
   * `write` changes the file; `there`: it has this entry; `other`: it has another one of the same name;
   * `unclear`: it was not understood.
   */
  state: 'write' | 'there' | 'other' | 'unclear'
  before: string | null
  after: string
  /** The entry alone, to be pasted. */
  snippet: string
  why: string
  note: string | null
}

/** Several clients may share a file: each sees what those before it would have written. */
export async function planFor(
  clients: readonly McpClient[],
  at: Surroundings,
  scope: Scope,
  way: Way,
): Promise<Planned[]> {
  const texts = new Map<string, string>()
  const planned: Planned[] = []
  for (const client of clients) {
    const first = client.target(at, scope, way)
    const before = texts.get(first.file) ?? (await readIfThere(first.file))
    const plan = planOne(
      client,
      first,
      before,
      [client.note(scope, way), machineNote(scope, way)].filter((text) => text !== null).join(' ') || null,
    )
    if (plan.state === 'write') texts.set(plan.file, plan.after)
    planned.push(plan)
  }
  return planned
}

/** Files of a project are shared. */
const machineNote = (scope: Scope, way: Way): string | null =>
  scope === 'project' && way.kind === 'process' && isAbsolute(way.command)
    ? 'It names files of this machine: where tieline is installed in the project or for everybody, "tieline init" writes an entry that works elsewhere too.'
    : null

function planOne(client: McpClient, first: Target, before: string | null, note: string | null): Planned {
  const plain = { what: client.title, file: first.file, before, after: before ?? '', note }
  try {
    const parsed = objectOf(first, before ?? '')
    const target = client.newer?.(first, parsed) ?? first
    const snippet = snippetOf(target)
    const existing = target.path.reduce<unknown>(
      (value, name) => (value as JsonObject | undefined)?.[name],
      parsed,
    )
    if (existing !== undefined) {
      const same = isDeepStrictEqual(existing, target.entry)
      return {
        ...plain,
        snippet,
        state: same ? 'there' : 'other',
        why: same
          ? 'has this entry already'
          : `has another entry ${target.path.join('.')}, which is left as it is`,
      }
    }
    return {
      ...plain,
      snippet,
      state: 'write',
      why: before === null ? 'new file' : 'one entry is added',
      after:
        target.format === 'json'
          ? withEntry(before ?? '', target.path, target.entry)
          : withTable(before ?? '', target),
    }
  } catch (error) {
    return {
      ...plain,
      snippet: snippetOf(first),
      state: 'unclear',
      why: `is left alone: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`,
    }
  }
}

function objectOf({ format }: Target, text: string): JsonObject {
  // The reader of TOML gives objects of its own kind, which equal no other.
  const parsed =
    text.trim() === ''
      ? {}
      : format === 'json'
        ? parseJsonc(text)
        : (JSON.parse(JSON.stringify(parseToml(text))) as JsonObject)
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed))
    throw new Error('it is not an object')
  return parsed
}

const snippetOf = (target: Target): string =>
  target.format === 'toml' ? tableOf(target) : withEntry('', target.path, target.entry)

/** A table at the end of the file, unless that means something else there. */
function withTable(text: string, target: Target): string {
  const gap = text.trim() === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  const added = `${text}${gap}${tableOf(target)}`
  const [outer = '', name = ''] = target.path
  const old = objectOf(target, text)
  const expected = { ...old, [outer]: { ...(old[outer] as JsonObject | undefined), [name]: target.entry } }
  if (!isDeepStrictEqual(objectOf(target, added), expected))
    throw new Error('it is written in a way that cannot be changed safely')
  return added
}

const tableOf = ({ path, entry }: Target): string =>
  [
    `[${path.join('.')}]`,
    ...Object.entries(entry).map(([name, value]) => `${name} = ${tomlValue(value)}`),
    '',
  ].join('\n')

/** Basic strings of TOML are written as those of JSON. */
const tomlValue = (value: JsonObject[string]): string =>
  Array.isArray(value) ? `[${value.map(tomlValue).join(', ')}]` : JSON.stringify(value)

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

/** All or nothing, with the rights that the file had, and through a link to where it really is. */
export async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  const real = await realpath(file).catch(() => file)
  const mode = await stat(real).then(
    (found) => found.mode & 0o777,
    () => null,
  )
  const fresh = `${real}.tieline-${process.pid}`
  try {
    await writeFile(fresh, text, { flag: 'wx', ...(mode === null ? {} : { mode }) })
    if (mode !== null) await chmod(fresh, mode)
    await rename(fresh, real)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
}

/** The lines that come and go, with two around them. */
export function changedLines(before: string | null, after: string): string[] {
  const [old, fresh] = [before === null || before === '' ? [] : linesOf(before), linesOf(after)]
  let head = 0
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail))
    tail++
  return [
    ...fresh.slice(Math.max(0, head - 2), head).map((line) => `  ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `- ${line}`),
    ...fresh.slice(head, fresh.length - tail).map((line) => `+ ${line}`),
    ...fresh
      .slice(fresh.length - tail, Math.min(fresh.length, fresh.length - tail + 2))
      .map((line) => `  ${line}`),
  ]
}

const linesOf = (text: string): string[] => text.replace(/\r?\n$/, '').split(/\r?\n/)
