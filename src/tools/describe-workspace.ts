/**
 * Text about a directory for a child's prompt: where it is, which files matter, what kind of project it
 * holds.
 */
import { readSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import type { Dirent } from 'node:fs'
import { type Refusal, isRefusal } from '../model/refusal.ts'
import { preview } from '../model/text.ts'
import type { DescribeWorkspace } from '../runtime/kernel/ports.ts'
import { refusalOfFs, resolveInside, withFile } from './containment.ts'
import { readManifests } from './manifest.ts'

const field = 'context.workspace_files'
const entriesMax = 20
const namePointsMax = 200
const manifestBytesMax = 262_144

export const describeWorkspace: DescribeWorkspace = async (cwd, files) => {
  const entries = await readEntries(cwd)
  const listed =
    files === undefined || files.length === 0
      ? await describeStructure(cwd, entries)
      : await describeFiles(cwd, files)
  if (isRefusal(listed)) return listed
  const names = new Set(entries.map((entry) => entry.name))
  const project = await readManifests(names, (name) => readManifest(cwd, name))
  const lines = [`Working directory: ${oneLine(cwd)}`, '', ...listed]
  if (project.name !== null || project.stack.length > 0) lines.push('')
  if (project.name !== null) lines.push(`Project: ${oneLine(project.name)}`)
  if (project.stack.length > 0) lines.push(`Tech stack: ${project.stack.join(', ')}`)
  return { text: lines.join('\n') }
}

async function readEntries(cwd: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(cwd, { withFileTypes: true })
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (cause) {
    throw new Error(`the session's directory ${cwd} cannot be read`, { cause })
  }
}

async function describeFiles(cwd: string, files: readonly string[]): Promise<string[] | Refusal> {
  const lines = ['Relevant files:']
  for (const file of files) {
    const inside = await resolveInside(cwd, file, field)
    if (isRefusal(inside)) return inside
    lines.push(`  - ${oneLine(file)}${inside.exists ? '' : ' (missing)'}`)
  }
  return lines
}

async function describeStructure(cwd: string, entries: readonly Dirent[]): Promise<string[]> {
  const lines = ['Workspace structure:']
  for (const entry of entries.slice(0, entriesMax))
    lines.push(`  [${(await isDirectory(cwd, entry)) ? 'DIR' : 'FILE'}] ${oneLine(entry.name)}`)
  if (entries.length > entriesMax) lines.push(`  … and ${entries.length - entriesMax} more`)
  return entries.length === 0 ? [...lines, '  (empty)'] : lines
}

async function isDirectory(cwd: string, entry: Dirent): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory()
  const inside = await resolveInside(cwd, entry.name, field)
  return !isRefusal(inside) && inside.exists && (await stat(inside.path)).isDirectory()
}

/**
 * The start of a manifest, or null where there is none that may be read: a description never fails for that.
 */
async function readManifest(cwd: string, name: string): Promise<string | null> {
  const inside = await resolveInside(cwd, name, field)
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
    if (refusalOfFs(error, field, name) === null) throw error
    return null
  }
}

/** This text becomes part of a prompt: a name with line breaks in it must not look like lines of ours. */
const oneLine = (name: string): string =>
  preview(name.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\ufffd'), namePointsMax)
