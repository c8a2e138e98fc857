/**
 * Text about a directory for a child's prompt: where it is, which files matter, what kind of project it
 * holds.
 */
import { closeSync, fstatSync, readSync, type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { type Refusal, isRefusal } from '../model/refusal.ts'
import { preview } from '../model/text.ts'
import type { DescribeWorkspace } from '../runtime/kernel/ports.ts'
import { refusalOfFs, resolveInside, withFile, type Workplace } from './containment.ts'
import { openInside } from './handles.ts'
import { readManifests } from './manifest.ts'

const fieldDefault = 'context.workspace_files'
const entriesMax = 20
const namePointsMax = 200
const manifestBytesMax = 262_144

/** `hidden` are directories of ours that nobody may look into. */
export const describeWorkspace = (async (
  cwd: string,
  files: readonly string[] | undefined,
  field = fieldDefault,
  hidden: readonly string[] = [],
): Promise<{ text: string; missing: readonly string[] } | Refusal> => {
  const place = { cwd, hidden }
  const top = await resolveInside(place, '.', field)
  if (isRefusal(top)) return top
  const entries = await readEntries(cwd)
  const listed =
    files === undefined || files.length === 0
      ? { lines: await describeStructure(place, entries), missing: [] }
      : await describeFiles(place, files, field)
  if (isRefusal(listed)) return listed
  const names = new Set(entries.map((entry) => entry.name))
  const project = await readManifests(names, (name) => readManifest(place, name))
  const lines = [`Working directory: ${oneLine(cwd)}`, '', ...listed.lines]
  if (project.name !== null || project.stack.length > 0) lines.push('')
  if (project.name !== null) lines.push(`Project: ${oneLine(project.name)}`)
  if (project.stack.length > 0) lines.push(`Tech stack: ${project.stack.join(', ')}`)
  return { text: lines.join('\n'), missing: listed.missing }
}) satisfies DescribeWorkspace

async function readEntries(cwd: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(cwd, { withFileTypes: true })
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (cause) {
    throw new Error(`the session's directory ${cwd} cannot be read`, { cause })
  }
}

type Listed = { lines: string[]; missing: string[] }

async function describeFiles(
  place: Workplace,
  files: readonly string[],
  field: string,
): Promise<Listed | Refusal> {
  const lines = ['Relevant files:']
  const missing: string[] = []
  for (const file of files) {
    const inside = await resolveInside(place, file, field)
    if (isRefusal(inside)) return inside
    lines.push(`  - ${oneLine(file)}${inside.exists ? '' : ' (missing)'}`)
    if (!inside.exists) missing.push(file)
  }
  return { lines, missing }
}

async function describeStructure(place: Workplace, entries: readonly Dirent[]): Promise<string[]> {
  const lines = ['Workspace structure:']
  for (const entry of entries.slice(0, entriesMax))
    lines.push(`  [${(await isDirectory(place, entry)) ? 'DIR' : 'FILE'}] ${oneLine(entry.name)}`)
  if (entries.length > entriesMax) lines.push(`  … and ${entries.length - entriesMax} more`)
  return entries.length === 0 ? [...lines, '  (empty)'] : lines
}

async function isDirectory(place: Workplace, entry: Dirent): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory()
  const inside = await resolveInside(place, entry.name, fieldDefault)
  if (isRefusal(inside) || !inside.exists) return false
  try {
    const opened = openInside(inside, inside.path)
    if (opened === null) return false
    const found = fstatSync(opened)
    closeSync(opened)
    return found.isDirectory()
  } catch (error) {
    // What cannot be opened is shown as a file.
    if (refusalOfFs(error, fieldDefault, entry.name) === null) throw error
    return false
  }
}

/**
 * The start of a manifest, or null where there is none that may be read: a description never fails for that.
 */
async function readManifest(place: Workplace, name: string): Promise<string | null> {
  const inside = await resolveInside(place, name, fieldDefault)
  if (isRefusal(inside) || !inside.exists) return null
  try {
    const read = await withFile(inside, name, async (file) => {
      const buffer = Buffer.alloc(manifestBytesMax)
      const bytesRead = readSync(file, buffer, 0, manifestBytesMax, 0)
      return { text: buffer.toString('utf8', 0, bytesRead) }
    })
    return isRefusal(read) ? null : read.text
  } catch (error) {
    // A manifest that vanished or may not be read tells nothing; a broken disk is still a fault.
    if (refusalOfFs(error, fieldDefault, name) === null) throw error
    return null
  }
}

/** This text becomes part of a prompt: a name with line breaks in it must not look like lines of ours. */
const oneLine = (name: string): string =>
  preview(name.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\ufffd'), namePointsMax)
