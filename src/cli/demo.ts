/** `tieline demo`: a real delegation without any key or network. Scripts stand in for the models; files, processes, calls, context and tokens are real. */
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunOptions, Tieline } from '../serve.ts'
import { endWords } from './amounts.ts'
import { sharedFlags, wantsColour, wantsLive, type Command, type CommandInput } from './command.ts'
import { demoAgents, earlier, task } from './demo-agents.ts'
import { spec, specFile } from './demo-files.ts'
import { callsOf, demoLines, overheadPercent, type DemoReport } from './report.ts'
import { shown, watchRuns, type Watch } from './watch.ts'

/** How long each answer takes where somebody watches. */
const pauseMs = 480

export const demo: Command = {
  name: 'demo', words: [], help: 'Shows a planner, a coder and a reviewer at work, offline, in a scratch directory', flags: sharedFlags, run: runDemo,
}

async function runDemo({ flags, env, out, err, signal }: CommandInput): Promise<number> {
  const silent = flags['json'] === true || flags['quiet'] === true
  const live = wantsLive(out, env) && !silent
  const place = await placeOf(await mkdtemp(join(tmpdir(), 'tieline-demo-')))
  const { tieline } = await import('../serve.ts')
  await using line = await tieline({ agents: demoAgents(live ? pauseMs : 0), dataDir: place.log, onWarning: (warning) => void err.write(`tieline: ${warning}\n`) })
  if (!silent) out.write(`${live ? '\n' : ''}Three agents build what a file asks for. Models are scripted, all else is real.\n\n`)
  const watch = watchRuns(line, silent ? null : out, { live, colour: wantsColour(out, env) })
  const report = await shown(watch, work(line, watch, place, signal))
  if (flags['json'] === true) out.write(`${JSON.stringify(report)}\n`)
  else if (flags['quiet'] === true) out.write(`${report.success ? report.output : endWords(report.outcome, report.error)}\n`)
  else out.write(`\n${demoLines(report).join('\n')}\n${live ? '\n' : ''}`)
  return report.success ? 0 : 1
}

type Place = { workspace: string; alone: string; log: string }

/** Two equal workspaces: one for the three, one for the agent that works alone. They stay, so that one can look at them. */
async function placeOf(directory: string): Promise<Place> {
  const place = { workspace: join(directory, 'workspace'), alone: join(directory, 'alone'), log: join(directory, 'log') }
  for (const cwd of [place.workspace, place.alone]) {
    await mkdir(cwd)
    await writeFile(join(cwd, specFile), spec)
  }
  return place
}

async function work(line: Tieline, watch: Watch, place: Place, signal: AbortSignal): Promise<DemoReport> {
  const together = await watch.follow(line.run('planner', task, await talked(line, 'planner', place.workspace)), signal)
  const alone = signal.aborted || !together.success ? null : await watch.follow(line.run('alone', task, await talked(line, 'alone', place.alone)), signal)
  const review = reviewOf(watch)
  const failed = [together, alone].find((result) => result?.success === false)
  return {
    success: failed === undefined && alone !== null && review?.approved === true, outcome: failed?.outcome ?? together.outcome, output: together.output, error: failed?.error ?? null, review,
    workspace: place.workspace, files: (await readdir(place.workspace)).sort(), log: place.log, tokensUsed: together.tokensUsed, durationMs: together.durationMs, calls: callsOf(watch.tree()),
    alone: alone?.success === true ? { tokensUsed: alone.tokensUsed, durationMs: alone.durationMs } : null,
    overheadPercent: alone?.success === true ? overheadPercent(together.tokensUsed, alone.tokensUsed) : null,
  }
}

/** A session that has talked before: what of that the coder is shown is for the filter to choose. */
async function talked(line: Tieline, agent: string, cwd: string): Promise<RunOptions> {
  let options: RunOptions = { cwd }
  for (const text of earlier) {
    const { session } = await line.run(agent, text, options)
    if (session !== null) options = { session }
  }
  return options
}

function reviewOf(watch: Watch): DemoReport['review'] {
  const reviewed = callsOf(watch.tree()).find((call) => call.agent === 'reviewer' && call.outcome === 'completed')
  return reviewed === undefined ? null : (JSON.parse(reviewed.output) as DemoReport['review'])
}
