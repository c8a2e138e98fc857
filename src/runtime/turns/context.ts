/**
 * What a child receives of its caller: filter order age, roles, keywords, last N, summary, workspace, fit
 * (R8).
 * The caller's running turn is not part of its history, so nothing that is read here can change before the
 * call opens.
 */
import type { Agent } from '../../model/agent.ts'
import { wantsMessages, type ContextFilter, type Entry, type Manifest } from '../../model/context.ts'
import { boundaryFor, frameCall, frameLines, frameUnder, type Boundary } from '../../model/frame.ts'
import type { SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import { countGently } from '../../model/text.ts'
import type { Runtime } from '../kernel/runtime.ts'
import { entryText } from './loop.ts'
import type { EntryPage } from '../kernel/store-port.ts'
import type { CallRequest } from '../kernel/ports.ts'
import { addSteps } from './step-text.ts'
import type { Running } from '../kernel/running.ts'
import { ensureSummary } from './summary.ts'
import { nextRound } from '../kernel/system-clock.ts'

export type BuiltContext = { manifest: Manifest }

const promptTokens = new WeakMap<Agent, number>()

export async function buildContext(
  runtime: Runtime,
  caller: Running,
  request: CallRequest,
  target: Agent,
  fresh: boolean,
  boundary: Boundary,
): Promise<BuiltContext | Refusal> {
  // Nobody knows how much it is without reading it, and it was read for others just now.
  if (request.input != null) await nextRound()
  const prompt = renderPrompt(
    boundary,
    caller.agent.name,
    request.task,
    request.input ?? null,
    request.attachment,
  )
  const tokensMax = request.maxContextTokens ?? runtime.limits.contextTokens
  const parts: Record<string, number> = {
    prompt: countPrompt(runtime, target),
    task: await countGently(runtime.count, prompt),
  }
  const filter = request.context
  const workspace =
    filter?.include_workspace === true
      ? await runtime.describeWorkspace(caller.session.cwd, filter.workspace_files)
      : null
  if (workspace !== null && isRefusal(workspace)) return workspace
  if (workspace !== null)
    parts['workspace'] = await countGently(runtime.count, frameLines(boundary, workspace.text))
  const summary = filter?.include_summary === true ? await ensureSummary(runtime, caller) : null
  if (summary !== null) parts['summary'] = await countGently(runtime.count, framedSummary(boundary, summary))
  const fixed = Object.values(parts).reduce((sum, tokens) => sum + tokens, 0)
  // A persistent session has its own context; the budget is about what a fresh child is given.
  if (fresh && fixed > tokensMax) return { code: 'context_too_large', tokens: fixed, tokensMax, parts }
  const page =
    fresh && filter !== null && wantsMessages(filter)
      ? await selectMessages(runtime, caller.row.session, filter, tokensMax - fixed, boundary)
      : null
  if (page !== null && page.tokens > 0) parts['messages'] = page.tokens
  const messages =
    page === null
      ? null
      : {
          session: caller.row.session,
          total: page.total,
          passed: page.entries.map((entry) => entry.n),
          roles: filter?.roles ?? null,
          dropped: page.dropped,
        }
  return {
    manifest: {
      tokensMax,
      tokens: fixed + (page?.tokens ?? 0),
      parts,
      summary,
      workspace: workspace?.text ?? null,
      messages,
    },
  }
}

/** What a child is asked, as its model reads it. */
export const renderPrompt = (
  boundary: Boundary,
  caller: string,
  task: string,
  input: Json,
  attachment: string | null,
): string =>
  frameCall(
    boundary,
    caller,
    task,
    input === null ? null : typeof input === 'string' ? input : JSON.stringify(input),
    attachment,
  )

function countPrompt(runtime: Runtime, agent: Agent): number {
  const known = promptTokens.get(agent)
  if (known !== undefined) return known
  const tokens = agent.prompt === '' ? 0 : runtime.count(agent.prompt)
  promptTokens.set(agent, tokens)
  return tokens
}

async function selectMessages(
  runtime: Runtime,
  session: SessionId,
  filter: ContextFilter,
  tokensMax: number,
  boundary: Boundary,
): Promise<EntryPage & { tokens: number }> {
  const room = Math.max(0, tokensMax)
  const page = await runtime.store.entries(session, { filter, now: runtime.clock.now(), tokensMax: room })
  return fit(runtime, session, page, room, filter.roles?.includes('tool') === true, boundary)
}

/**
 * Steps and the frames of peers are counted for what was selected, newest first; the first entry that does
 * not fit with them ends the selection.
 */
async function fit(
  runtime: Runtime,
  session: SessionId,
  page: EntryPage,
  tokensMax: number,
  withSteps: boolean,
  boundary: Boundary,
): Promise<EntryPage & { tokens: number }> {
  const entries: Entry[] = []
  let tokens = 0
  for (const entry of page.entries.toReversed()) {
    const full = withSteps ? await addSteps(runtime, session, entry) : entry
    const more =
      full.steps === null && full.from === null
        ? entry.tokens
        : await countGently(
            runtime.count,
            entryText(full, boundary === null ? null : boundaryFor(entry.turn, entry.at)),
          )
    if (tokens + more > tokensMax) break
    tokens += more
    entries.unshift(full)
  }
  const cut = page.entries.length - entries.length
  return {
    ...page,
    entries,
    tokens,
    dropped: { ...page.dropped, budget: (page.dropped['budget'] ?? 0) + cut },
  }
}

export const framedSummary = (boundary: Boundary, summary: string): string =>
  frameUnder(boundary, '[Conversation summary]', summary)

/** The child's system text: its own prompt first and always, then what was added to it. */
export function renderSystem(agent: Agent, manifest: Manifest | null, boundary: Boundary): string {
  const { workspace, summary } = manifest ?? { workspace: null, summary: null }
  const parts = [
    agent.prompt,
    workspace == null ? '' : frameLines(boundary, workspace),
    summary == null ? '' : framedSummary(boundary, summary),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** The messages that were passed, read back by their numbers: they never change. */
export async function passedMessages(runtime: Runtime, manifest: Manifest): Promise<readonly Entry[]> {
  if (manifest.messages === null || manifest.messages.passed.length === 0) return []
  const { passed, roles } = manifest.messages
  const session = manifest.messages.session as SessionId
  const entries = await runtime.store.entriesByNumber(session, passed)
  if (roles?.includes('tool') !== true) return entries
  return Promise.all(
    entries.map((entry) =>
      addSteps(runtime, session, roles.includes(entry.role) ? entry : { ...entry, text: '' }),
    ),
  )
}
