/** `search`: lines that match a regular expression. */
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { contained } from '../model/contained.ts'
import { badInput, type Refusal } from '../model/refusal.ts'
import { ownFile } from '../own-files.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { answered, Path, refused, workspaceTool } from './answer.ts'
import { isRefusal, resolveInside } from './containment.ts'
import type { Match, SearchNews, SearchOrder } from './search-worker.ts'

const matchesDefault = 100
const matchesMax = 1000
const searchMsMax = 5000
const workerHeapMbMax = 256

const Input = z.strictObject({
  pattern: z.string().min(1, 'a regular expression that is not empty').max(1000, 'a regular expression of at most 1000 characters').describe('JavaScript regular expression, matched line by line; (?i:…) ignores case'),
  path: Path.default('.').describe('File or directory inside the working directory'),
  glob: z.string().min(1, 'a glob that is not empty').max(200, 'a glob of at most 200 characters').optional().describe('Only these files, such as *.ts or src/**/*.md'),
  max: z.int().min(1).default(matchesDefault).describe(`Most lines to return, at most ${matchesMax}`),
})

export const search = workspaceTool({
  name: 'search',
  effect: 'read',
  description: 'Searches text files for lines that match a regular expression. Leaves out .git, node_modules, binary files and files over 1 MiB.',
  input: Input,
  async run(input, context) {
    const flags = flagsFor(input.pattern)
    if (typeof flags !== 'string') return refused(flags)
    const inside = await resolveInside(context.session.cwd, input.path, 'path')
    if (isRefusal(inside)) return refused(inside)
    const start = await stat(inside.path)
    if (!start.isFile() && !start.isDirectory()) return refused(badInput('path', input.path, 'a file or a directory'))
    const found = await searchInThread({
      start: inside.path, shownStart: inside.shown, pattern: input.pattern, flags, glob: input.glob ?? null, matchesMax: Math.min(input.max, matchesMax),
    }, context.signal)
    const notes = notesOf(found.end)
    const truncated = found.end === null || found.end.full
    return answered({ matches: found.matches, files_searched: found.end?.filesSearched ?? null, truncated, note: notes.join(' ') })
  },
})

/** Whole code points where the pattern allows it; patterns with needless escapes, which models write, only compile without. */
function flagsFor(pattern: string): 'u' | '' | Refusal {
  if (compileError(pattern, 'u') === null) return 'u'
  const error = compileError(pattern, '')
  return error === null ? '' : badInput('pattern', pattern, `a JavaScript regular expression (${error})`)
}

function compileError(pattern: string, flags: string): string | null {
  try {
    new RegExp(pattern, flags)
    return null
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}

type End = Extract<SearchNews, { kind: 'done' }>
type Found = { matches: Match[]; /** Null where time ran out first. */ end: End | null }

/** Ends with the thread's end, or soon after the time is up or `signal` aborts; then the thread is stopped wherever it is. */
async function searchInThread(order: SearchOrder, signal: AbortSignal): Promise<Found> {
  signal.throwIfAborted()
  const worker = new Worker(workerFile, { workerData: order, env: {}, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: workerHeapMbMax } })
  const found: Found = { matches: [], end: null }
  worker.on('message', contained(() => stop(), (news: SearchNews) => {
    if (news.kind === 'matches') found.matches.push(...news.matches)
    else found.end = news
  }))
  const ended = new AbortController()
  const stop = (): void => void worker.terminate()
  signal.addEventListener('abort', stop, { once: true, signal: ended.signal })
  // A thread that computes runs in real time, whatever clock the runtime has; the sleep is given up when the thread ends first.
  const time = systemClock.sleep(searchMsMax, ended.signal).then(stop, () => undefined)
  try {
    // Rejects with what the thread threw; messages sent before its end have arrived by then.
    await once(worker, 'exit')
  } finally {
    ended.abort()
    await time
  }
  signal.throwIfAborted()
  return found
}

const workerFile = ownFile('tools/search-worker')

function notesOf(end: End | null): string[] {
  if (end === null) return [`Stopped after ${searchMsMax} ms, so there may be more: use a simpler pattern, a glob or a narrower path.`]
  const notes: string[] = []
  if (end.full) notes.push('There may be more: raise max, or use a glob or a narrower path.')
  if (end.filesTooLarge > 0) notes.push(`${end.filesTooLarge} files over 1 MiB were left out.`)
  if (end.linesCut > 0) notes.push(`${end.linesCut} very long lines were searched only at their start.`)
  return notes
}
