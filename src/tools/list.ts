/** `list`: names of what is in a directory. */
import { closeSync } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { badInput, isRefusal } from '../model/refusal.ts'
import { answered, Path, refused, workspaceTool, workplace } from './answer.ts'
import { readErrno, resolveInside, type Inside } from './containment.ts'
import { openFolder, pathTo, type Bounds } from './handles.ts'

const entriesMax = 500
/** Names read of one directory: they are sorted before the first ones are taken. */
const namesMax = 10_000
const depthMax = 10
const notDescended = new Set(['.git', 'node_modules'])

const Input = z.strictObject({
  path: Path.default('.').describe('Directory inside the working directory'),
  depth: z.int().min(1).default(1).describe(`Levels of directories to show, at most ${depthMax}`),
})

type Name = { name: string; isDirectory: boolean; isLink: boolean }
type Level = { path: string; prefix: string; depth: number }

export const list = workspaceTool({
  name: 'list',
  effect: 'read',
  description:
    'Lists a directory: "name/" is a directory, "name@" a symbolic link. ' +
    `At most ${entriesMax} entries; ${[...notDescended].join(' and ')} are shown but not descended into.`,
  input: Input,
  async run(input, context) {
    const inside = await resolveInside(workplace(context), input.path, 'path')
    if (isRefusal(inside)) return refused(inside)
    const found = await listEntries(inside, Math.min(input.depth, depthMax), context.signal)
    if (found === null) return refused(badInput('path', input.path, 'a directory that exists'))
    const { entries, truncated } = found
    const note = truncated ? 'There is more: list a directory below, or use less depth.' : ''
    return answered({ path: inside.shown, entries, truncated, note })
  },
})

/** Level by level, so that where the bound cuts, the upper levels are whole. */
async function listEntries(
  inside: Inside,
  depth: number,
  signal: AbortSignal,
): Promise<{ entries: string[]; truncated: boolean } | null> {
  const top = inside.path
  const entries: string[] = []
  const levels: Level[] = [{ path: top, prefix: '', depth }]
  let truncated = false
  for (let level = levels.shift(); level !== undefined && !truncated; level = levels.shift()) {
    const found = await readNames(inside, level.path, signal)
    if (found === null && level.path === top) return null
    // A directory below that vanished or cannot be read is listed by its name alone.
    if (found === null) continue
    truncated = found.truncated || entries.length + found.names.length > entriesMax
    for (const entry of found.names.slice(0, entriesMax - entries.length)) {
      const shown = `${level.prefix}${entry.name}`
      entries.push(`${shown}${entry.isDirectory ? '/' : entry.isLink ? '@' : ''}`)
      // Links are not descended into: they may lead out, or around in a ring.
      if (entry.isDirectory && level.depth > 1 && !notDescended.has(entry.name)) {
        levels.push({ path: join(level.path, entry.name), prefix: `${shown}/`, depth: level.depth - 1 })
      }
    }
  }
  return { entries: entries.sort(), truncated }
}

async function readNames(
  bounds: Bounds,
  path: string,
  signal: AbortSignal,
): Promise<{ names: Name[]; truncated: boolean } | null> {
  let folder: number | null = null
  try {
    folder = openFolder(bounds, path)
    if (folder === null) return null
    const names: Name[] = []
    for await (const entry of await opendir(pathTo(folder, path))) {
      signal.throwIfAborted()
      if (names.length === namesMax) return { names: sorted(names), truncated: true }
      names.push({ name: entry.name, isDirectory: entry.isDirectory(), isLink: entry.isSymbolicLink() })
    }
    return { names: sorted(names), truncated: false }
  } catch (error) {
    // These say that it is no directory that can be read; the caller knows what that means.
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'].includes(readErrno(error))) return null
    throw error
  } finally {
    if (folder !== null) closeSync(folder)
  }
}

/** By code units, so that the order is the same on every machine. */
const sorted = (names: Name[]): Name[] =>
  names.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
