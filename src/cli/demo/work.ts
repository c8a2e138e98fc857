/** Runs the demo. The models are scripted; files, processes, calls, context, tokens and the server are real. */
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TielineClient } from '../../client/client.ts'
import { describeEnd } from '../show/amounts.ts'
import { isSilent, printError, printResult, wantsColour, wantsLive, type CommandInput } from '../command.ts'
import { demoAgents, earlier, task } from './agents.ts'
import { spec, specFile } from './files.ts'
import { startServer } from '../reach/own-server.ts'
import { openClient } from '../reach/reach.ts'
import { collectCalls, renderReport, type DemoReport } from '../show/report.ts'
import { waitForInterrupt } from '../commands/serve.ts'
import { openWatch, planMessage, type Watch, type WorkResult } from '../show/watch.ts'

/** How long each answer takes where a person watches. */
const pauseMs = 480
const usualAddress = { host: '127.0.0.1', port: 8283 }
const talkMsMax = 10_000

export async function runDemo(input: CommandInput): Promise<number> {
  const { env, out, err, signal } = input
  const silent = isSilent(input)
  const live = wantsLive(out, env) && !silent
  const place = await createPlace(await mkdtemp(join(tmpdir(), 'tieline-demo-')), live ? pauseMs : 0)
  const { config, log: dataDir, workspace: cwd } = place
  const onWarning = (text: string): void => printError(err, text)
  const served = await startServer({ config, dataDir, cwd, onWarning }, usualAddress, () => undefined)
  try {
    const client = openClient(served.url, served.token)
    const edge = live ? '\n' : ''
    if (!silent)
      out.write(`${edge}Three agents build what a file asks for. Models are scripted, all else is real.\n\n`)
    const colour = wantsColour(out, env)
    const watch = await openWatch(client, { out: silent ? null : out, live, colour, awayMsMax: 0 })
    let report: DemoReport
    try {
      report = await watch.show(() => work(client, watch, place, signal))
    } finally {
      await watch.close()
    }
    const { success, output, outcome, error } = report
    const program = nameProgram(input)
    const next = `The same with your own agents (Claude Code, Codex, OpenCode …): ${program} up`
    const text = `\n${renderReport(report).join('\n')}\n${edge}\n${next}`
    printResult(input, report, text, success ? output : describeEnd(outcome, error))
    if (live && !signal.aborted) await stayUp(input, served.url, place)
    return success ? 0 : 1
  } finally {
    await served.close()
  }
}

/**
 * Started by npm, the user has no such command of their own yet. In a clone `npx tieline` would first install the
 * clone into a cache and build it once more, so there it is the program itself, which runs on any Node.
 */
export function nameProgram({ env }: Pick<CommandInput, 'env'>): string {
  if (env['npm_lifecycle_event'] === 'start') return 'node bin/tieline.js'
  return env['npm_execpath'] === undefined ? 'tieline' : 'npx tieline'
}

/** Runs until Ctrl-C. */
async function stayUp(input: CommandInput, url: string, { log, workspace }: Place): Promise<void> {
  const program = nameProgram(input)
  // The planner reads what to build from its directory.
  input.out.write(`The server stays up, so that you can look around, from another terminal:
  ${url}
  ${program} tail --data-dir ${log}
  ${program} chat --data-dir ${log} --agent planner --cwd ${workspace}
Ctrl-C ends it.
`)
  await waitForInterrupt(input)
}

type Place = { workspace: string; alone: string; log: string; config: string }

/** Two equal workspaces, for the three and for the agent that works alone. They stay for you to look at. */
async function createPlace(directory: string, pause: number): Promise<Place> {
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
  const config = { server: { dataDir: place.log }, agents: demoAgents(pause) }
  await writeFile(place.config, JSON.stringify(config, null, 2))
  return place
}

async function work(
  client: TielineClient,
  watch: Watch,
  place: Place,
  signal: AbortSignal,
): Promise<DemoReport> {
  const together = await runJob(client, watch, 'planner', place.workspace, signal)
  const alone =
    signal.aborted || !together.success ? null : await runJob(client, watch, 'alone', place.alone, signal)
  const calls = collectCalls(watch.tree())
  const review = findReview(calls)
  const failed = [together, alone].find((result) => result?.success === false)
  const { tokensUsed, durationMs } = together
  const measured = alone?.success === true ? alone : null
  return {
    success: failed === undefined && alone !== null && review?.approved === true,
    outcome: failed?.outcome ?? together.outcome,
    output: together.output,
    error: failed?.error ?? null,
    review,
    workspace: place.workspace,
    files: (await readdir(place.workspace)).sort(),
    log: place.log,
    tokensUsed,
    durationMs,
    calls,
    alone: measured && { tokensUsed: measured.tokensUsed, durationMs: measured.durationMs },
    overheadPercent:
      measured && Math.round(((tokensUsed - measured.tokensUsed) / measured.tokensUsed) * 1000) / 10,
  }
}

/** Works in a session that has talked before: the context filter chooses what the coder sees of that. */
async function runJob(
  client: TielineClient,
  watch: Watch,
  agent: string,
  cwd: string,
  signal: AbortSignal,
): Promise<WorkResult> {
  const { sessionId: session } = await client.sessions.create({ cwd, agent }, { signal, key: null })
  for (const message of earlier) {
    await client.sessions.send(session, { message }, { signal })
    await client.sessions.wait(session, { timeoutMs: talkMsMax }, { signal })
  }
  return watch.follow(planMessage(client, session, task), signal)
}

function findReview(calls: DemoReport['calls']): DemoReport['review'] {
  const reviewed = calls.find(({ agent, outcome }) => agent === 'reviewer' && outcome === 'completed')
  return reviewed === undefined ? null : (JSON.parse(reviewed.output) as DemoReport['review'])
}
