/**
 * What becomes of a delegation whose sub-agent hangs, calls back, answers with nothing, or whose process is killed:
 * each contender in one line, as measured. Nothing is judged here; the table stands beside the numbers.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { installLanggraph, langgraphVersion } from './install-langgraph.ts'
import { probeNames, type ProbeName, type Seen } from './probed/moves.ts'
import type { Progress } from './progress.ts'
import type { Part } from './report.ts'

const program = fileURLToPath(new URL('probe-process.ts', import.meta.url))
/** R11: from the first request to a model. A ring that nobody stops has thousands by then. */
const watchMs = 5000
const startMs = 60_000
const requestsMax = 2000

const contenders: readonly [string, string][] = [
  ['tieline', 'Tieline'],
  ['ai-sdk', 'AI SDK 7'],
  ['openai-agents', 'OpenAI Agents SDK'],
]

const titles: Record<ProbeName, string> = {
  hang: `the sub-agent's model never answers, no limit is set, ${watchMs / 1000} s`,
  limited: 'the same, with a limit of 1 s for the call',
  ring: 'each agent calls the other',
  empty: 'the sub-agent answers with an empty text',
  kill: 'kill -9 while the sub-agent asks its model, then a new process',
}

/** What one process did until it ended, or until it was killed. */
type Life = { requests: number; seen: Seen[]; ended: 'itself' | 'killed' }

/** `until` says when it has done enough. */
async function live(args: readonly string[], until: (life: Life) => boolean): Promise<Life> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
  const exit = once(child, 'exit')
  const life: Life = { requests: 0, seen: [], ended: 'itself' }
  const kill = (): void => {
    life.ended = 'killed'
    child.kill('SIGKILL')
  }
  let timer = setTimeout(kill, startMs)
  for await (const line of createInterface({ input: child.stdout })) {
    const seen = JSON.parse(line) as Seen
    if ('model' in seen) life.requests += 1
    else life.seen.push(seen)
    if (life.requests + life.seen.length === 1) {
      clearTimeout(timer)
      timer = setTimeout(kill, watchMs)
    }
    if (life.ended === 'itself' && (until(life) || life.requests >= requestsMax)) kill()
  }
  clearTimeout(timer)
  await exit
  return life
}

const isOver = ({ seen }: Life): boolean => seen.some((one) => 'answer' in one || 'failed' in one)

async function probe(contender: string, name: ProbeName): Promise<string> {
  const data = mkdtempSync(join(tmpdir(), 'tieline-bench-probe-'))
  try {
    // The second request is the sub-agent's.
    const first = await live([contender, name, '1', data], (life) =>
      name === 'kill' ? life.requests === 2 : isOver(life),
    )
    if (name !== 'kill') return describe(first)
    const told = ({ seen }: Life): boolean => seen.some((one) => 'told' in one || 'lost' in one)
    const second = await live([contender, name, '2', data], (life) => isOver(life) || told(life))
    return second.seen.some((one) => 'lost' in one) ? 'nothing of it is left' : `goes on: ${describe(second)}`
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

const short = (text: string): string => (text.length > 100 ? `${text.slice(0, 97)}…` : text)

function describe({ requests, seen, ended }: Life): string {
  const counted = `${requests}${ended === 'killed' && requests >= requestsMax ? ' or more' : ''} requests`
  const words = seen.flatMap((one): string[] => {
    if ('failed' in one) return [`the run fails: ${short(one.failed)}`]
    if (!('told' in one)) return []
    return [`the ${one.role} reads ${short(readWords(one.told))}`]
  })
  if (ended === 'killed' && !isOver({ requests, seen, ended }) && words.length === 0)
    return `still under way when it was stopped, after ${counted}`
  return `${counted}; ${words.join('; ')}`
}

/** Of an answer in JSON only what was said, or why nothing was. */
function readWords(told: string): string {
  if (told === '') return 'an empty text'
  const [, error] = /"errors":\["([^"\\]*)/.exec(told) ?? []
  const [, output] = /"output":"([^"\\]+)/.exec(told) ?? []
  return error ?? output ?? told
}

export async function probes(progress: Progress, _seconds: number, all: boolean): Promise<Part> {
  const chosen = [...contenders]
  if (all) {
    installLanggraph()
    chosen.push(['langgraph', `LangGraph ${langgraphVersion} with its SQLite saver`])
  }
  progress.part('probes', probeNames.length * chosen.length)
  const tables: Part['tables'] = []
  for (const name of probeNames) {
    const rows: string[][] = []
    for (const [contender, title] of chosen) {
      const line = await probe(contender, name)
      rows.push([title, line])
      progress.step(`${name}: ${contender}`)
    }
    tables.push({ title: titles[name], columns: ['', 'what happens'], rows })
  }
  return { name: 'probes', tables, checks: [], notes: [] }
}
