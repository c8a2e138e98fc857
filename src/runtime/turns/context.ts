/**
 * What a child receives of its caller: filter order age, roles, keywords, last N, summary, workspace, fit
 * (R8).
 * Of the caller's running turn only its input is passed, so nothing that is read here can change before the call
 * opens.
 */
import type { Agent } from '../../model/agent.ts'
import { wantsMessages, type ContextFilter, type Entry, type Manifest } from '../../model/context.ts'
import { artifactKindsDefault, finalAnswerWords } from '../../model/final-answer.ts'
import { frameCall, frameLines, frameUnder, type Boundary } from '../../model/frame.ts'
import type { SessionId, TurnId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { type Refusal, isRefusal } from '../../model/refusal.ts'
import { countGently } from '../../model/text.ts'
import type { Runtime } from './runtime.ts'
import type { CallRequest } from '../kernel/ports.ts'
import { readPresent, selectMessages } from './select-messages.ts'
import { addSteps } from './step-text.ts'
import type { Running } from '../kernel/running.ts'
import { ensureSummary } from './summary.ts'
import { nextRound } from '../kernel/next-round.ts'

type Messages = NonNullable<Manifest['messages']>
export type BuiltContext = { manifest: Manifest; notes: string[]; attachment: string | null }

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
  const files = await nameFiles(runtime, caller, request)
  if (isRefusal(files)) return files
  const asked = { ...request, attachment: files.attachment }
  const tokensMax = request.maxContextTokens ?? runtime.limits.contextTokens
  const parts = await countFixed(runtime, caller, asked, target, boundary)
  const workspace = await describePlace(runtime, caller, request.context)
  if (workspace !== null && isRefusal(workspace)) return workspace
  if (workspace !== null)
    parts['workspace'] = await countGently(runtime.count, frameLines(boundary, workspace.text))
  const filter = request.context
  const wantsSummary = filter?.include_summary === true
  // Zero is zero: a summary is not paid for where nothing of it could be passed.
  const needed = sum(parts) + (wantsSummary ? 1 : 0)
  const tooLarge = (tokens: number): Refusal => ({
    code: 'context_too_large',
    tokens,
    tokensMax,
    parts,
    ...(request.tool === 'subagent' ? { fixed: true } : {}),
  })
  if (fresh && needed > tokensMax) return tooLarge(needed)
  const summary = wantsSummary ? await ensureSummary(runtime, caller) : null
  if (summary !== null) parts['summary'] = await countGently(runtime.count, framedSummary(boundary, summary))
  const fixed = sum(parts)
  // A persistent session has its own context; the budget is about what a fresh child is given.
  if (fresh && fixed > tokensMax) return tooLarge(fixed)
  const chosen =
    fresh && filter !== null && wantsMessages(filter)
      ? await selectMessages(runtime, caller, filter, tokensMax - fixed, boundary)
      : null
  if (chosen !== null && chosen.tokens > 0) parts['messages'] = chosen.tokens
  return {
    attachment: files.attachment,
    manifest: {
      tokensMax,
      tokens: fixed + (chosen?.tokens ?? 0),
      parts,
      summary,
      workspace: workspace?.text ?? null,
      messages: chosen?.manifest ?? null,
    },
    notes: [
      ...noteFiles(files.missing, 'files'),
      ...noteFiles(workspace?.missing ?? [], 'context.workspace_files'),
      ...(chosen === null || filter === null ? [] : noteMessages(chosen.manifest, filter)),
      ...(wantsSummary && summary === null
        ? ['There was nothing to summarise yet: no summary was passed.']
        : []),
    ],
  }
}

const sum = (parts: Record<string, number>): number =>
  Object.values(parts).reduce((total, tokens) => total + tokens, 0)

/** What a child receives in any case. */
async function countFixed(
  runtime: Runtime,
  caller: Running,
  request: CallRequest,
  target: Agent,
  boundary: Boundary,
): Promise<Record<string, number>> {
  const { task, input, attachment } = request
  const prompt = renderPrompt(boundary, caller.agent.name, task, input ?? null, attachment)
  const shape = isTold(runtime, request) ? renderShape(runtime, boundary, request) : ''
  return {
    prompt: countPrompt(runtime, target),
    task: await countGently(runtime.count, prompt),
    ...(shape === '' ? {} : { shape: await countGently(runtime.count, shape) }),
  }
}

/** Whether the callee is told how to answer. A replay of what 0.1.0 recorded tells as little as that did. */
export const isTold = (
  runtime: Runtime,
  { tool, outputSchema }: Pick<CallRequest, 'tool' | 'outputSchema'>,
): boolean => (runtime.tells ?? true) && (tool === 'subagent' || outputSchema != null)

/** How a callee must answer, in words of ours below what it is asked. */
export function renderShape(
  runtime: Pick<Runtime, 'artifactKinds'>,
  boundary: Boundary,
  { tool, outputSchema }: { tool: string; outputSchema?: Json | undefined },
): string {
  if (outputSchema != null)
    return (
      '\n\nAnswer with JSON that satisfies this schema, and nothing else:\n' +
      frameLines(boundary, JSON.stringify(outputSchema))
    )
  return tool === 'subagent' ? `\n\n${finalAnswerWords(runtime.artifactKinds ?? artifactKindsDefault)}` : ''
}

/** Files that the caller names for a subagent: inside its directory, and those that are not there say so. */
async function nameFiles(
  runtime: Runtime,
  caller: Running,
  { files = [], attachment }: CallRequest,
): Promise<{ attachment: string | null; missing: readonly string[] } | Refusal> {
  if (files.length === 0) return { attachment, missing: [] }
  const described = await runtime.describeWorkspace(caller.session.cwd, files, 'files')
  if (described !== null && isRefusal(described)) return described
  const missing = described?.missing ?? []
  const lines = files.map((file) => `- ${file}${missing.includes(file) ? ' (missing)' : ''}`)
  const listed = ['Files:', ...lines].join('\n')
  return { attachment: attachment === null ? listed : `${attachment}\n${listed}`, missing }
}

/** Files that are named for the workspace ask for it. */
async function describePlace(runtime: Runtime, caller: Running, filter: ContextFilter | null) {
  if (filter === null || (!filter.include_workspace && filter.workspace_files === undefined)) return null
  return runtime.describeWorkspace(caller.session.cwd, filter.workspace_files)
}

const namedMax = 5
const noteFiles = (missing: readonly string[], field: string): string[] =>
  missing.length === 0
    ? []
    : [
        `${field}: ${missing.slice(0, namedMax).join(', ')}` +
          `${missing.length > namedMax ? ` and ${missing.length - namedMax} more` : ''} ` +
          'does not exist here; the callee reads that it is missing.',
      ]

const dropWords: Readonly<Record<string, string>> = {
  age: 'older than max_age_seconds',
  roles: 'of other roles',
  keywords: 'without any of the keywords',
  last: 'before the last messages',
  budget: 'too long for max_context_tokens',
  unsearched: 'too far back to be searched',
}

/** A filter that passes nothing succeeds, and says so. */
function noteMessages({ total, passed, dropped, present }: Messages, { roles }: ContextFilter): string[] {
  if (passed.length > 0 || present != null) return []
  if (roles?.every((role) => role === 'system') === true)
    return ['No message was passed: your own prompt is never passed on as a message.']
  const why = Object.entries(dropped).flatMap(([reason, count]) =>
    count > 0 ? [`${count} ${dropWords[reason] ?? reason}`] : [],
  )
  return [
    total === 0 && why.length === 0
      ? 'No message was passed: your conversation has none that could be.'
      : `No message was passed: ${why.join(', ') || 'the filters left none'}.`,
  ]
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
  if (manifest.messages === null) return []
  const { passed, roles, present } = manifest.messages
  const session = manifest.messages.session as SessionId
  const entries = passed.length === 0 ? [] : await runtime.store.entriesByNumber(session, passed)
  const full =
    roles?.includes('tool') === true
      ? await Promise.all(
          entries.map((entry) =>
            addSteps(runtime, session, roles.includes(entry.role) ? entry : { ...entry, text: '' }),
          ),
        )
      : entries
  const now = present == null ? null : await readPresent(runtime, present as TurnId)
  return now === null ? full : [...full, now]
}
