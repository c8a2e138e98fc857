/**
 * What a child receives of its caller: filter order age, roles, keywords, last N, summary, workspace, fit (R8).
 * The caller's running turn is not part of its history, so nothing that is read here can change before the call opens.
 */
import type { Agent } from '../model/agent.ts'
import { calledBy, wantsMessages, type ContextFilter, type Entry, type Manifest } from '../model/context.ts'
import type { SessionId } from '../model/id.ts'
import type { Refusal } from '../model/refusal.ts'
import type { Line } from './line.ts'
import type { CallRequest, EntryPage } from './ports.ts'
import type { Running } from './running.ts'
import { summaryOf } from './summary.ts'

export type BuiltContext = { manifest: Manifest; prompt: string }

const noMessages: EntryPage = { entries: [], total: 0, dropped: {} }
const promptTokens = new WeakMap<Agent, number>()

export async function buildContext(line: Line, caller: Running, request: CallRequest, target: Agent, fresh: boolean): Promise<BuiltContext | Refusal> {
  const prompt = promptOf(caller, request)
  const tokensMax = request.maxContextTokens ?? line.limits.contextTokens
  const parts: Record<string, number> = { prompt: promptTokensOf(line, target), task: line.count(prompt) }
  const filter = request.context
  const workspace = filter?.include_workspace === true ? await line.describeWorkspace(caller.session.cwd, filter.workspace_files) : null
  if (workspace !== null && 'code' in workspace) return workspace
  if (workspace !== null) parts['workspace'] = line.count(workspace.text)
  const summary = filter?.include_summary === true ? await summaryOf(line, caller) : null
  if (summary !== null) parts['summary'] = line.count(framedSummary(summary))
  const fixed = Object.values(parts).reduce((sum, tokens) => sum + tokens, 0)
  // A persistent session has its own context; the budget is about what a fresh child is given.
  if (fresh && fixed > tokensMax) return { code: 'context_too_large', tokens: fixed, tokensMax, parts }
  const page = fresh && filter !== null && wantsMessages(filter) ? await messagesOf(line, caller.row.session, filter, tokensMax - fixed) : noMessages
  const withSteps = filter?.roles?.includes('tool') ?? false
  const messageTokens = page.entries.reduce((sum, entry) => sum + entry.tokens + (withSteps ? entry.stepTokens : 0), 0)
  if (page.entries.length > 0) parts['messages'] = messageTokens
  const manifest: Manifest = {
    tokensMax, tokens: fixed + messageTokens, parts, summary, workspace: workspace?.text ?? null,
    messages: { session: page.total > 0 ? caller.row.session : null, total: page.total, passed: page.entries.map((entry) => entry.n), withSteps, dropped: page.dropped },
  }
  return { manifest, prompt }
}

function promptOf(caller: Running, request: CallRequest): string {
  const input = request.input === undefined ? null : typeof request.input === 'string' ? request.input : JSON.stringify(request.input)
  const prompt = calledBy(caller.agent.name, request.task, input)
  return request.attachment === null ? prompt : `${prompt}\n${request.attachment}`
}

function promptTokensOf(line: Line, agent: Agent): number {
  const known = promptTokens.get(agent)
  if (known !== undefined) return known
  const tokens = agent.prompt === '' ? 0 : line.count(agent.prompt)
  promptTokens.set(agent, tokens)
  return tokens
}

const messagesOf = (line: Line, session: SessionId, filter: ContextFilter, tokensMax: number): Promise<EntryPage> =>
  line.store.entries(session, { filter, now: line.clock.now(), tokensMax: Math.max(0, tokensMax), withSteps: filter.roles?.includes('tool') ?? false })

export const framedSummary = (summary: string): string => `[Conversation summary]\n${summary}`

/** The child's system text: its own prompt first and always, then what was added to it. */
export function systemOf(agent: Agent, manifest: Manifest | null): string {
  const parts = [agent.prompt, manifest?.workspace ?? '', manifest?.summary == null ? '' : framedSummary(manifest.summary)]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** The messages that were passed, read back by their numbers: they never change. */
export async function passedMessages(line: Line, manifest: Manifest): Promise<readonly Entry[]> {
  const { session, passed, withSteps } = manifest.messages
  if (session === null || passed.length === 0) return []
  return line.store.entriesByNumber(session as SessionId, passed, withSteps)
}
