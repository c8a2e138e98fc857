/** Events with the fields that the tree of calls reads, and the lines that it draws. */
import { renderCalls } from '../../src/cli/show/face.ts'
import { renderTree } from '../../src/cli/show/tree-lines.ts'
import { emptyTree, foldEvent, type Tree } from '../../src/cli/show/tree.ts'
import type { Event, Grant, StoredEvent } from '../../src/model/event.ts'
import type { CallId, TurnId } from '../../src/model/id.ts'
import type { Json } from '../../src/model/json.ts'
import type { Delta } from '../../src/wire/log.ts'

export const at0 = 1_000_000
const turn = (name: string): TurnId => `turn_${name}`
export const callId = (name: string): CallId => `call_${name}`

/** An event with the fields that the tree reads; `at` is in milliseconds after the start. */
export const stored = (at: number, event: Partial<Event> & Pick<Event, 'type'>): StoredEvent => ({
  seq: 0,
  at: at0 + at,
  event: event as Event,
})

const grant = (...agents: string[]): Grant => ({
  agent: agents.at(-1) ?? '',
  depth: agents.length - 1,
  subagentDepth: 0,
  path: agents.map((agent) => ({ session: `ses_${agent}`, agent })),
  authority: { tools: null, nested: true },
  tokensMax: null,
  maxIterations: 16,
})
export const place = (name: string): Pick<Event, 'session' | 'turn'> => ({
  session: `ses_${name}`,
  turn: turn(name),
})

export const sent = (at: number, name: string, text: string) =>
  stored(at, {
    type: 'message.sent',
    ...place(name),
    message: 'msg_1',
    flow: 'flow_1',
    from: null,
    source: 'user',
    text,
    tokens: 5,
    grant: grant(name),
  })
export const started = (at: number, name: string, deadline: number) =>
  stored(at, { type: 'turn.started', ...place(name), node: 'node_1', epoch: 1, deadline: at0 + deadline })
export const opened = (at: number, path: string[], task: string, deadline: number, background = false) =>
  stored(at, {
    type: 'call.opened',
    ...place(path.at(-2) ?? ''),
    call: callId(path.at(-1) ?? ''),
    key: `k-${path.join()}`,
    flow: 'flow_1',
    target: `ses_${path.at(-1)}`,
    tool: 'sub_agent',
    task,
    taskHash: 'h',
    input: null,
    background,
    outputSchema: null,
    requested: {},
    deadline: at0 + deadline,
    grant: grant(...path),
  })
export const ended = (at: number, caller: string, name: string, more: object = {}) =>
  stored(at, {
    type: 'call.ended',
    ...place(caller),
    call: callId(name),
    target: `ses_${name}`,
    outcome: 'completed',
    output: 'done',
    outputBytes: 4,
    truncated: false,
    errors: [],
    toolCalls: [],
    tokensUsed: 100,
    iterations: 1,
    openedAt: at0,
    endedAt: at0 + at,
    cause: 'answered',
    ...more,
  })
export const asked = (at: number, name: string, input: number, output: number) =>
  stored(at, {
    type: 'step.ended',
    ...place(name),
    kind: 'model',
    name: 'scripted',
    key: `m${at}`,
    input: null,
    ok: true,
    output: {},
    usage: { input, output, estimated: true },
    startedAt: at0,
  })
export const tool = (
  at: number,
  name: string,
  type: 'step.started' | 'step.ended',
  toolName: string,
  input: Json,
  ok = true,
) =>
  stored(at, {
    type,
    ...place(name),
    kind: 'tool',
    name: toolName,
    key: `${toolName}-${JSON.stringify(input)}`,
    input,
    ...(type === 'step.ended' ? { ok, output: {}, usage: null, startedAt: at0 } : {}),
  })
export const rootEnded = (at: number, name: string, more: object = {}) =>
  stored(at, {
    type: 'turn.ended',
    ...place(name),
    outcome: 'completed',
    output: 'All done.',
    error: null,
    tokensUsed: 50,
    tokensBelow: 200,
    iterations: 2,
    toolCalls: ['sub_agent'],
    ...more,
  })
export const delta = (name: string, step: number, text: string): Delta => ({
  session: `ses_${name}`,
  turn: turn(name),
  epoch: 1,
  step,
  offset: 0,
  text,
})

export const fold = (events: readonly StoredEvent[], tree: Tree = emptyTree): Tree =>
  events.reduce(foldEvent, tree)
export const lines = (tree: Tree, now: number, width = 71, rows = 40): string[] =>
  renderTree(tree, at0 + now, { width, rows, colour: false })
export function plain(events: readonly StoredEvent[]): string[] {
  let tree = emptyTree
  return events.flatMap((event) => {
    const shown = renderCalls(tree, event)
    tree = foldEvent(tree, event)
    return shown
  })
}

export const oneCall = [
  sent(0, 'planner', 'Build it.'),
  started(0, 'planner', 3_600_000),
  asked(500, 'planner', 600, 40),
  opened(500, ['planner', 'coder'], 'Write a.mjs', 60_500),
  started(500, 'coder', 60_500),
]
