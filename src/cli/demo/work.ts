/**
 * The demo at work. Scripts stand in for the models; files, processes, calls, context, tokens and the server
 * are real.
 */
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TielineClient } from '../../client/client.ts'
import { endWords } from '../show/amounts.ts'
import { isSilent, printJson, wantsColour, wantsLive, type CommandInput } from '../command.ts'
import { demoAgents, earlier, task } from './agents.ts'
import { spec, specFile } from './files.ts'
import { openClient, startServer } from '../reach/reach.ts'
import { collectCalls, demoLines, overheadPercent, type DemoReport } from '../show/report.ts'
import { untilInterrupted } from '../commands/serve.ts'
import { openWatch, sending, type Watch, type WorkResult } from '../show/watch.ts'

/** How long each answer takes where somebody watches. */
const pauseMs = 480
const usualPlace = { host: '127.0.0.1', port: 8283 }

export async function runDemo(input: CommandInput): Promise<number> {
  const { flags, env, out, err, signal } = input
  const silent = isSilent(input)
  const live = wantsLive(out, env) && !silent
  const place = await placeOf(await mkdtemp(join(tmpdir(), 'tieline-demo-')), live ? pauseMs : 0)
  const served = await startServer(
    {
      config: place.config,
      dataDir: place.log,
      cwd: place.workspace,
      onWarning: (warning) => void err.write(`tieline: ${warning}\n`),
    },
    usualPlace,
    () => undefined,
  )
  try {
    const client = openClient(served.url, served.token)
    if (!silent)
      out.write(
        `${live ? '\n' : ''}Three agents build what a file asks for. Models are scripted, all else is real.\n\n`,
      )
    const watch = await openWatch(client, {
      out: silent ? null : out,
      live,
      colour: wantsColour(out, env),
      awayMsMax: 0,
    })
    const report = await watched(watch, () => work(client, watch, place, signal))
    if (flags['json'] === true) printJson(out, report)
    else if (flags['quiet'] === true)
      out.write(`${report.success ? report.output : endWords(report.outcome, report.error)}\n`)
    else out.write(`\n${demoLines(report).join('\n')}\n${live ? '\n' : ''}`)
    if (live && !signal.aborted) await stayUp(input, served.url, place)
    return report.success ? 0 : 1
  } finally {
    await served.close()
  }
}

async function watched<T>(watch: Watch, job: () => Promise<T>): Promise<T> {
  try {
    return await watch.shown(job)
  } finally {
    await watch.close()
  }
}

/** Until Ctrl-C, which is how this is meant to end. */
async function stayUp(input: CommandInput, url: string, place: Place): Promise<void> {
  // Whoever came here by npm has no such command of their own yet.
  const program = input.env['npm_execpath'] === undefined ? 'tieline' : 'npx tieline'
  input.out.write(
    `The server stays up, so that you can look around:\n  ${url}\n  ${program} tail --data-dir ${place.log}\n  ${program} chat --data-dir ${place.log} --agent planner\nCtrl-C ends it.\n`,
  )
  await untilInterrupted(input)
}

type Place = { workspace: string; alone: string; log: string; config: string }

/**
 * Two equal workspaces: one for the three, one for the agent that works alone. They stay, so that one can
 * look at them.
 */
async function placeOf(directory: string, pause: number): Promise<Place> {
  const place = {
    workspace: join(directory, 'workspace'),
    alone: join(directory, 'alone'),
    log: join(directory, 'log'),
    config: join(directory, 'tieline.json'),
  }
  for (const cwd of [place.workspace, place.alone]) {
    await mkdir(cwd)
    await writeFile(join(cwd, specFile), spec)
  }
  await writeFile(
    place.config,
    JSON.stringify({ server: { dataDir: place.log }, agents: demoAgents(pause) }, null, 2),
  )
  return place
}

async function work(
  client: TielineClient,
  watch: Watch,
  place: Place,
  signal: AbortSignal,
): Promise<DemoReport> {
  const together = await job(client, watch, 'planner', place.workspace, signal)
  const alone =
    signal.aborted || !together.success ? null : await job(client, watch, 'alone', place.alone, signal)
  const review = reviewOf(watch)
  const failed = [together, alone].find((result) => result?.success === false)
  return {
    success: failed === undefined && alone !== null && review?.approved === true,
    outcome: failed?.outcome ?? together.outcome,
    output: together.output,
    error: failed?.error ?? null,
    review,
    workspace: place.workspace,
    files: (await readdir(place.workspace)).sort(),
    log: place.log,
    tokensUsed: together.tokensUsed,
    durationMs: together.durationMs,
    calls: collectCalls(watch.tree()),
    alone: alone?.success === true ? { tokensUsed: alone.tokensUsed, durationMs: alone.durationMs } : null,
    overheadPercent: alone?.success === true ? overheadPercent(together.tokensUsed, alone.tokensUsed) : null,
  }
}

/** In a session that has talked before: what of that the coder is shown is for the filter to choose. */
async function job(
  client: TielineClient,
  watch: Watch,
  agent: string,
  cwd: string,
  signal: AbortSignal,
): Promise<WorkResult> {
  const { sessionId: session } = await client.sessions.create({ cwd, agent }, { signal, key: null })
  for (const text of earlier) await talked(client, session, text, signal)
  return watch.follow(sending(client, session, task), signal)
}

const waitMs = 10_000

async function talked(
  client: TielineClient,
  session: string,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  await client.sessions.send(session, { message: text }, { signal })
  await client.sessions.wait(session, { timeoutMs: waitMs }, { signal })
}

function reviewOf(watch: Watch): DemoReport['review'] {
  const reviewed = collectCalls(watch.tree()).find(
    (call) => call.agent === 'reviewer' && call.outcome === 'completed',
  )
  return reviewed === undefined ? null : (JSON.parse(reviewed.output) as DemoReport['review'])
}
