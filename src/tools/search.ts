/** `search`: lines that match a regular expression. */
import { closeSync, fstatSync } from 'node:fs'
import { z } from 'zod'
import { badInput, isRefusal } from '../model/refusal.ts'
import { ownFile } from '../own-files.ts'
import type { ToolAnswer } from '../runtime/kernel/ports.ts'
import { workerPool } from '../runtime/kernel/worker-pool.ts'
import { answered, Path, refused, workspaceTool, workplace } from './answer.ts'
import { moved, resolveInside } from './containment.ts'
import { openInside } from './handles.ts'
import type { Match, SearchEnd, SearchOrder } from './search-worker.ts'

const matchesDefault = 100
const matchesMax = 1000
const searchMsMax = 5000
const workerHeapMbMax = 256

const Input = z.strictObject({
  pattern: z
    .string()
    .min(1, 'a regular expression that is not empty')
    .max(1000, 'a regular expression of at most 1000 characters')
    .describe('JavaScript regular expression, matched line by line; (?i:…) ignores case'),
  path: Path.default('.').describe('File or directory inside the working directory'),
  glob: z
    .string()
    .min(1, 'a glob that is not empty')
    .max(200, 'a glob of at most 200 characters')
    .optional()
    .describe('Only these files, such as *.ts or src/**/*.md'),
  max: z.int().min(1).default(matchesDefault).describe(`Most lines to return, at most ${matchesMax}`),
})

export const search = workspaceTool({
  name: 'search',
  effect: 'read',
  description:
    'Searches text files for lines that match a regular expression. ' +
    'Leaves out .git, node_modules, binary files and files over 1 MiB.',
  input: Input,
  async run(input, context) {
    const inside = await resolveInside(workplace(context), input.path, 'path')
    if (isRefusal(inside)) return refused(inside)
    const start = openInside(inside, inside.path)
    if (start === null) return refused(moved(input.path))
    const kind = fstatSync(start)
    closeSync(start)
    if (!kind.isFile() && !kind.isDirectory())
      return refused(badInput('path', input.path, 'a file or a directory'))
    const order = {
      root: inside.root,
      hidden: inside.hidden,
      start: inside.path,
      shownStart: inside.shown,
      pattern: input.pattern,
      glob: input.glob ?? null,
      matchesMax: Math.min(input.max, matchesMax),
    }
    const found = await searchInThread(order, context.session.id, context.signal)
    if (found === null) return busy
    const { matches, end } = found
    if (end?.badPattern != null)
      return refused(
        badInput('pattern', input.pattern, `a JavaScript regular expression (${end.badPattern})`),
      )
    return answered({
      matches,
      files_searched: end?.filesSearched ?? null,
      truncated: end === null || end.full,
      note: writeNotes(end).join(' '),
    })
  },
})

const busy: ToolAnswer = {
  ok: false,
  value: {
    error: {
      code: 'rate_limited',
      message: 'Not searched: too many searches wait already. Ask for fewer at once, or try again.',
    },
  },
}

type Found = { matches: Match[]; /** Null where time ran out first. */ end: SearchEnd | null }

/**
 * Shared by all sessions: a model may ask for 64 searches in one answer, and each thread takes memory and a
 * core.
 */
const pool = workerPool<SearchOrder, Match[], SearchEnd>({
  file: ownFile('tools/search-worker'),
  workersMax: 4,
  queuedMax: 512,
  queuedPerOwnerMax: 64,
  heapMbMax: workerHeapMbMax,
})

/**
 * Ends with its thread's answer, or soon after the time is up or `signal` aborts; then the thread is stopped
 * wherever it is. Null: too many wait.
 */
async function searchInThread(order: SearchOrder, owner: string, signal: AbortSignal): Promise<Found | null> {
  const matches: Match[] = []
  const onPartial = (more: Match[]): void => void matches.push(...more)
  const outcome = await pool.run({ order, owner, msMax: searchMsMax, signal, onPartial })
  switch (outcome.kind) {
    case 'answer':
      return { matches, end: outcome.value }
    case 'late':
      return { matches, end: null }
    case 'full':
      return null
    case 'broken':
      throw new Error(`the search broke off: ${outcome.why}`)
  }
}

/** For tests and for watching. */
export const searchThreads = (): number => pool.threads()

function writeNotes(end: SearchEnd | null): string[] {
  if (end === null)
    return [
      `Stopped after ${searchMsMax} ms, so there may be more: use a simpler pattern, a glob or a narrower path.`,
    ]
  const notes: string[] = []
  if (end.full) notes.push('There may be more: raise max, or use a glob or a narrower path.')
  if (end.filesTooLarge > 0) notes.push(`${end.filesTooLarge} files over 1 MiB were left out.`)
  if (end.linesCut > 0) notes.push(`${end.linesCut} very long lines were searched only at their start.`)
  return notes
}
