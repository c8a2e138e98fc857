/** What the fake agent over ACP can be told to do; `fake-acp-agent.ts` is its program. */
import { once } from 'node:events'

export type FakeAcp = {
  /** Where it keeps its sessions, and the record of what it was asked. */
  home: string
  usage?: 'turn' | 'last' | 'process' | 'none' | 'quota'
  /** Text of the old conversation still comes after `session/load` was answered. */
  lateChunks?: boolean
  canLoad?: boolean
  /** Permission requests carry the id of their tool call and nothing else. */
  bareRequests?: boolean
  /** No `tool_call` before a request for leave. */
  asksFirst?: boolean
  cancelAnswer?: 'cancelled' | 'end_turn' | 'none'
  ignoresSigterm?: boolean
  garbage?: boolean
  connects?: boolean
  steers?: boolean
  protocolVersion?: number
  loggedOut?: boolean
  overLimit?: boolean
  /** It never answers this request. */
  mute?: 'initialize' | 'session/new' | 'session/prompt'
  /** What it calls itself; its words have message ids then. */
  version?: string
  /** Said in place of an answer, as an adapter does: without an id, and as if all were well. */
  adapterSays?: string
  modes?: string[]
  /** It dies at this many prompts, counted over all its processes. */
  diesAt?: number
}

export const leaveOptions = [
  { optionId: 'always', kind: 'allow_always', name: 'Always' },
  { optionId: 'once', kind: 'allow_once', name: 'Once' },
  { optionId: 'no', kind: 'reject_once', name: 'No' },
]

type Counted = { inputTokens: number; outputTokens: number }

/** As five agents word it. `counted` is what the process has used since it was started. */
export function describeUsage(as: NonNullable<FakeAcp['usage']>, counted: Counted): object {
  switch (as) {
    case 'turn':
      return { usage: { inputTokens: 100, outputTokens: 10, totalTokens: 110 } }
    case 'last':
      return { usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 } }
    case 'process':
      return { usage: { ...counted, totalTokens: counted.inputTokens + counted.outputTokens } }
    case 'quota':
      return { _meta: { quota: { token_count: { input_tokens: 40, output_tokens: 4 } } } }
    case 'none':
      return {}
  }
}

/** `100`, or `100 0.25` with what its session has cost so far in dollars; `100 plan {…}` with its plan's windows. */
export function describeUse(argument: string): object {
  const [numbers = '', meta] = argument.split(' plan ')
  if (meta !== undefined) return { ...describeUse(numbers), _meta: JSON.parse(meta) as object }
  const [used, usd] = argument.split(' ').map(Number)
  const cost = usd === undefined ? {} : { cost: { amount: usd, currency: 'USD' } }
  return { sessionUpdate: 'usage_update', used, size: 200_000, ...cost }
}

export const describeAgent = ({ protocolVersion, version, canLoad, steers }: FakeAcp): object => ({
  protocolVersion: protocolVersion ?? 1,
  ...(version === undefined ? {} : { agentInfo: { name: 'fake', version } }),
  agentCapabilities: { loadSession: canLoad !== false, mcpCapabilities: { http: true } },
  ...(steers === true ? { _meta: { steering: { supported: true } } } : {}),
})

export const describeWords = (text: string, isNamed: boolean): object => ({
  sessionUpdate: 'agent_message_chunk',
  ...(isNamed ? { messageId: 'message-1' } : {}),
  content: { type: 'text', text },
})

const pieceUnits = 60_000

/** `[what, megabytes, part]`, as fast as it is read. */
export async function flood(
  [what = '', megabytes = '', part = 'x']: readonly string[],
  session: string,
  isOver: () => boolean,
): Promise<void> {
  for (const line of floodLines(what, Number(megabytes) * 1024 * 1024, part, session)) {
    if (isOver()) return
    if (!process.stdout.write(line)) await once(process.stdout, 'drain')
  }
}

/** Lines of one kind, until they have so many bytes. */
function* floodLines(what: string, bytes: number, part: string, sessionId: string): Generator<string> {
  const text = part.repeat(Math.ceil(pieceUnits / part.length))
  for (let [sent, n] = [0, 0]; sent < bytes; n += 1) {
    const line =
      what === 'garbage' ? `${part}\n` : `${JSON.stringify(floodMessage(what, n, text, sessionId))}\n`
    sent += line.length
    yield line
  }
}

function floodMessage(what: string, n: number, text: string, sessionId: string): object {
  const toolCall = { toolCallId: `${what}-${n}`, title: text, kind: 'execute', rawInput: { text } }
  if (what === 'leave')
    return {
      jsonrpc: '2.0',
      id: `l${n}`,
      method: 'session/request_permission',
      params: { sessionId, toolCall, options: [] },
    }
  const content = [{ type: 'diff', path: text, oldText: text, newText: text }]
  const updates: Record<string, object> = {
    text: describeWords(text, false),
    tools: { sessionUpdate: 'tool_call', ...toolCall, status: 'completed', content },
    plans: { sessionUpdate: 'plan', entries: [{ content: text, status: text, priority: text }] },
  }
  return { jsonrpc: '2.0', method: 'session/update', params: { sessionId, update: updates[what] } }
}
