/**
 * What `tieline init` would write, planned completely before anything is changed. A file that is not
 * understood is left alone, and the user gets the entry to paste.
 */
import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parse as parseToml } from 'smol-toml'
import type { McpClient, Scope, Surroundings, Target, Way } from './init-entries.ts'
import { describeError } from '../../client/tieline-error.ts'
import { addEntry, addItem, readAt, type Part } from './jsonc-edit.ts'
import { parseJsonc, type JsonObject } from './jsonc.ts'
import { describeDoubled, findOpenCodeEntries, opencodePlugin } from './opencode-plugin.ts'

export type Planned = {
  what: string
  /** For whom; null where it is for several, one step for each. */
  of: string | null
  file: string
  /**
   * `there`: it has this entry, or what does the same; `other`: it has another one of that name; `unclear`: not
   * understood; `doubled`: with this it would have us twice.
   */
  state: 'write' | 'there' | 'other' | 'unclear' | 'doubled'
  before: string | null
  after: string
  /** What is added, for whoever takes it back. */
  parts: readonly Part[]
  steps?: readonly { of: string; after: string; parts: readonly Part[] }[]
  /** Of a new file; the usual one unless given. */
  mode?: number
  /** The entry alone, for the user to paste. */
  snippet: string
  why: string
  note: string | null
}

/** Several clients may share a file: each sees what the ones before it would write. */
export async function planEntries(
  clients: readonly McpClient[],
  at: Surroundings,
  scope: Scope,
  way: Way,
): Promise<Planned[]> {
  const texts = new Map<string, string>()
  const planned: Planned[] = []
  for (const client of clients) {
    const target = client.target(at, scope, way)
    const before = texts.get(target.file) ?? (await readIfThere(target.file))
    const notes = [client.note(scope, way), isBoundToMachine(scope, way) ? machineNote : null]
    const note = notes.filter((text) => text !== null).join(' ') || null
    const plan = await settleOpenCode(client, at, planOne(client, target, before, note))
    if (plan.state === 'write') texts.set(plan.file, plan.after)
    planned.push(plan)
  }
  return planned
}

/** OpenCode needs the plugin or the entry, not both: also where the other one stands in another file. */
async function settleOpenCode({ id }: McpClient, at: Surroundings, plan: Planned): Promise<Planned> {
  if (id !== 'opencode' && id !== opencodePlugin.id) return plan
  const found = await findOpenCodeEntries(at)
  const [own, other] = id === 'opencode' ? [found.mcp, found.plugin] : [found.plugin, found.mcp]
  const isAnother = id === opencodePlugin.id && own.length > 0 && plan.state === 'write'
  if (isAnother) return { ...plan, state: 'other', why: `it has our plugin already: ${own.join(', ')}` }
  if (other.length === 0) return plan
  const unchanged = { ...plan, after: plan.before ?? '', parts: [], note: null }
  if (own.length > 0)
    return { ...unchanged, state: 'doubled', why: `${describeDoubled(found)}. Remove one of both` }
  return id === 'opencode'
    ? {
        ...unchanged,
        state: 'there',
        why: `it has our plugin, which brings the same tools: ${other.join(', ')}`,
      }
    : {
        ...unchanged,
        state: 'doubled',
        why: `it has our MCP entry: remove mcp.tieline from ${other.join(', ')} first`,
      }
}

/** Files of a project are shared with other machines. */
const isBoundToMachine = (scope: Scope, way: Way): boolean =>
  scope === 'project' && way.kind === 'process' && isAbsolute(way.command)
const machineNote =
  'It names files of this machine: where tieline is installed in the project or globally, "tieline init" ' +
  'writes an entry that works elsewhere too.'

function planOne(client: McpClient, first: Target, before: string | null, note: string | null): Planned {
  const { title: what, id } = client
  const of = id === opencodePlugin.id ? 'opencode' : id
  const plain = { what, of, file: first.file, before, after: before ?? '', parts: [], note }
  try {
    const parsed = parseObject(first, before ?? '')
    const target = client.newer?.(first, parsed) ?? first
    const snippet = renderSnippet(target)
    const { path, entry, isItem = false } = target
    const existing = readAt(parsed, path)
    const has = isItem
      ? Array.isArray(existing) && existing.some((item) => isDeepStrictEqual(item, entry))
      : isDeepStrictEqual(existing, entry)
    if (has) return { ...plain, snippet, state: 'there', why: 'has this entry already' }
    if (existing !== undefined && !isItem)
      return {
        ...plain,
        snippet,
        state: 'other',
        why: `has another entry ${path.join('.')}, which is left as it is`,
      }
    const why = before === null ? 'new file' : 'one entry is added'
    const parts = [{ path, value: entry, isItem }]
    return { ...plain, snippet, state: 'write', why, after: addTarget(before ?? '', target), parts }
  } catch (error) {
    const why = `is left alone: ${describeError(error).split('\n')[0] ?? ''}`
    return { ...plain, snippet: renderSnippet(first), state: 'unclear', why }
  }
}

function addTarget(text: string, target: Target): string {
  if (target.format === 'toml') return addTable(text, target)
  return (target.isItem === true ? addItem : addEntry)(text, target.path, target.entry)
}

function parseObject({ format }: Target, text: string): JsonObject {
  // The TOML parser returns objects without a prototype, which equal no others.
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

const renderSnippet = (target: Target): string =>
  target.format === 'toml' ? renderTable(target) : addTarget('', target)

/** Adds a table at the end of the file, unless it would mean something else there. */
function addTable(text: string, target: Target): string {
  const gap = text.trim() === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  const added = `${text}${gap}${renderTable(target)}`
  const [outer = '', name = ''] = target.path
  const old = parseObject(target, text)
  const expected = { ...old, [outer]: { ...(old[outer] as JsonObject | undefined), [name]: target.entry } }
  if (!isDeepStrictEqual(parseObject(target, added), expected))
    throw new Error('it is written in a way that cannot be changed safely')
  return added
}

const renderTable = ({ path, entry }: Target): string =>
  [
    `[${path.join('.')}]`,
    ...Object.entries(entry).map(([name, value]) => `${name} = ${renderToml(value)}`),
    '',
  ].join('\n')

/** Basic strings of TOML are written like those of JSON. */
const renderToml = (value: JsonObject[string]): string =>
  Array.isArray(value) ? `[${value.map(renderToml).join(', ')}]` : JSON.stringify(value)

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

/** Replaces the file atomically, keeps its mode, and follows links. */
export async function writeWhole(file: string, text: string, newMode: number | null = null): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  const real = await realpath(file).catch(() => file)
  const mode = await stat(real).then(
    (found) => found.mode & 0o777,
    () => newMode,
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

/** The lines that are added and removed, with two lines of context. */
export function renderChanges(before: string | null, after: string): string[] {
  const [old, fresh] = [before === null || before === '' ? [] : splitLines(before), splitLines(after)]
  let head = 0
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail))
    tail++
  return [
    ...fresh.slice(Math.max(0, head - 2), head).map((line) => `  ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `- ${line}`),
    ...fresh.slice(head, fresh.length - tail).map((line) => `+ ${line}`),
    ...fresh.slice(fresh.length - tail, fresh.length - tail + 2).map((line) => `  ${line}`),
  ]
}

const splitLines = (text: string): string[] => text.replace(/\r?\n$/, '').split(/\r?\n/)
