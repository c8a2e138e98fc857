/** Turns and calls as a tree, folded from events. Pure. */
import type { Delta } from '../../wire/log.ts'
import type { EventOf, Outcome, StoredEvent, Usage } from '../../model/event.ts'
import { toTurnId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { opensTurn } from '../../model/opening.ts'
import { explain } from '../../model/refusal.ts'
import { oneLine } from './width.ts'

/** An event, whether it comes from a log or over a wire. */
export type Happened = Pick<StoredEvent, 'at' | 'event'>

/** One turn: a root, or the turn of a call. A refused call has a node too, which has ended from the start. */
export type TreeNode = {
  id: string
  agent: string
  /** The turn that called; null for a root. */
  caller: string | null
  task: string
  state: 'queued' | 'running' | 'ended'
  outcome: Outcome | null
  /** Its caller does not wait for it. */
  background: boolean
  /** Sessions that this turn waits for, apart from its calls. */
  waitsFor: readonly string[]
  /** The tool that a person is asked about; the turn waits for the answer. */
  asking: string | null
  /** The outcome that it will have, once it was told to stop. */
  stopping: Outcome | null
  openedAt: number
  endedAt: number | null
  deadline: number | null
  /** Its own tokens so far. */
  tokens: number
  /** From its end, including everything below. */
  tokensTotal: number | null
  nanoUsd: number
  nanoUsdTotal: number | null
  toolsUsed: readonly string[]
  /** The tools of the current iteration. */
  round: readonly { key: string; words: string; failed: boolean }[]
  output: string
  errors: readonly string[]
  children: readonly string[]
}

/** The end of what a turn is saying. It is not in the log, and may be ahead of the events. */
type Saying = { epoch: number; step: number; text: string; remark: string }

export type Tree = {
  nodes: ReadonlyMap<string, TreeNode>
  roots: readonly string[]
  saying: ReadonlyMap<string, Saying>
}

export const emptyTree: Tree = { nodes: new Map(), roots: [], saying: new Map() }

const sayingMax = 2000

export function foldDelta(tree: Tree, delta: Delta): Tree {
  const before = tree.saying.get(delta.turn)
  const goesOn = before !== undefined && before.epoch === delta.epoch && before.step === delta.step
  // A new connection gets the text again from its beginning, with offset 0.
  const text = `${goesOn && delta.offset > 0 ? before.text : ''}${delta.text}`.slice(-sayingMax)
  const saying = new Map(tree.saying).set(delta.turn, {
    epoch: delta.epoch,
    step: delta.step,
    text,
    remark: delta.remark ?? '',
  })
  // A new answer means that the tools of the previous one are done.
  return goesOn ? { ...tree, saying } : change({ ...tree, saying }, delta.turn, () => ({ round: [] }))
}

export function foldEvent(tree: Tree, { event, at }: Happened): Tree {
  const turn = event.turn ?? ''
  switch (event.type) {
    case 'message.sent':
    case 'message.delivered':
      return opensTurn(event) ? plant(tree, newNode(turn, event.grant.agent, event.text, at)) : tree
    case 'turn.started':
      return change(tree, turn, (node) => ({
        state: 'running',
        deadline: Math.min(node.deadline ?? Infinity, event.deadline),
      }))
    case 'turn.cancelled':
      return change(tree, turn, () => ({ stopping: event.outcome }))
    case 'turn.ended':
      return change(tree, turn, (node) => (node.caller === null ? endRoot(event, at) : {}))
    case 'step.started':
      return change(tree, turn, (node) => recordTool(node, event, false))
    case 'step.ended':
      return change(tree, turn, (node) =>
        event.kind === 'tool'
          ? recordTool(node, event, !event.ok)
          : recordUsage(node, event.usage, event.kind === 'model'),
      )
    case 'call.opened':
      return plant(tree, createOpened(event, at))
    case 'call.refused':
      return plant(tree, createRefused(event, at))
    case 'call.ended':
      return change(clearSaying(tree, turn), toTurnId(event.call), (node) => endCall(node, event))
    case 'wait.started':
      return change(tree, turn, (node) => ({ waitsFor: [...node.waitsFor, event.target] }))
    case 'wait.ended':
      return change(tree, turn, (node) => ({
        waitsFor: node.waitsFor.filter((target) => target !== event.target),
      }))
    case 'question.asked':
      return change(tree, turn, () => ({ asking: event.tool }))
    case 'question.answered':
      return change(tree, turn, () => ({ asking: null }))
    case 'session.cancelled':
    case 'flow.seen':
    case 'call.steered':
    case 'mail.announced':
    case 'session.woken':
    case 'session.opened':
    case 'session.closed':
    case 'session.quieted':
    case 'turn.suspended':
    case 'session.forked':
    case 'message.drafted':
    case 'message.revised':
    case 'message.released':
    case 'message.accepted':
    case 'message.answered':
    case 'message.declined':
    case 'message.died':
    case 'agent.created':
    case 'agent.deleted':
    case 'session.created':
    case 'session.adopted':
    case 'session.renamed':
    case 'session.archived':
    case 'session.claimed':
    case 'notice.raised':
      return tree
  }
  // A server of a later version may send events that are not known here.
  return tree
}

/** What a caller said and did before its call ended is outdated. */
function clearSaying(tree: Tree, turn: string): Tree {
  const saying = new Map(tree.saying)
  saying.delete(turn)
  return change({ ...tree, saying }, turn, () => ({ round: [] }))
}

/** A client outside only makes calls, so that these are shown instead of it. */
export const withoutClients = (tree: Tree): Tree => ({
  ...tree,
  roots: tree.roots.flatMap((id) =>
    tree.nodes.get(id)?.agent === 'external' ? (tree.nodes.get(id)?.children ?? []) : [id],
  ),
})

/** The calls that a turn waits for. */
export const waitedFor = (tree: Tree, node: TreeNode): TreeNode[] =>
  listChildren(tree, node).filter(
    (child) => child.state !== 'ended' && (!child.background || node.waitsFor.length > 0),
  )

export const listRoots = (tree: Tree): TreeNode[] => tree.roots.flatMap((id) => tree.nodes.get(id) ?? [])

export const listChildren = (tree: Tree, node: TreeNode): TreeNode[] =>
  node.children.flatMap((id) => tree.nodes.get(id) ?? [])

/** Including everything below: from its end, or the sum so far. */
export const sumTokens = (tree: Tree, node: TreeNode): number =>
  node.tokensTotal ??
  listChildren(tree, node).reduce((sum, child) => sum + sumTokens(tree, child), node.tokens)

/** All nodes, callers before those they called. */
export function buildNodes(tree: Tree): TreeNode[] {
  const below = (node: TreeNode): TreeNode[] => [node, ...listChildren(tree, node).flatMap(below)]
  return listRoots(tree).flatMap(below)
}

export const newNode = (id: string, agent: string, task: string, at: number): TreeNode => ({
  id,
  agent,
  caller: null,
  task,
  state: 'queued',
  outcome: null,
  background: false,
  waitsFor: [],
  asking: null,
  stopping: null,
  openedAt: at,
  endedAt: null,
  deadline: null,
  tokens: 0,
  tokensTotal: null,
  nanoUsd: 0,
  nanoUsdTotal: null,
  toolsUsed: [],
  round: [],
  output: '',
  errors: [],
  children: [],
})

const createOpened = (event: EventOf<'call.opened'>, at: number): TreeNode => ({
  ...newNode(toTurnId(event.call), event.grant.agent, event.task, at),
  caller: event.turn,
  background: event.background,
  deadline: event.deadline,
})

const createRefused = (event: EventOf<'call.refused'>, at: number): TreeNode => ({
  ...newNode(event.call, event.agent, event.task, at),
  caller: event.turn,
  state: 'ended',
  outcome: 'refused',
  endedAt: at,
  tokensTotal: 0,
  nanoUsdTotal: 0,
  errors: [explain(event.refusal)],
})

const endRoot = (event: EventOf<'turn.ended'>, at: number): Partial<TreeNode> => ({
  state: 'ended',
  outcome: event.outcome,
  endedAt: at,
  tokensTotal: event.tokensUsed + event.tokensBelow,
  nanoUsdTotal: (event.spent?.nanoUsd ?? 0) + (event.spentBelow?.nanoUsd ?? 0),
  toolsUsed: event.toolCalls,
  output: event.output,
  errors: event.error === null ? [] : [event.error],
})

/** The first end counts: the log may also hold a late one. */
const endCall = (node: TreeNode, event: EventOf<'call.ended'>): Partial<TreeNode> =>
  node.state === 'ended'
    ? {}
    : {
        state: 'ended',
        outcome: event.outcome,
        openedAt: event.openedAt,
        endedAt: event.endedAt,
        tokensTotal: event.tokensUsed,
        nanoUsdTotal: event.spent?.nanoUsd ?? 0,
        toolsUsed: event.toolCalls,
        output: event.output,
        errors: event.errors,
      }

function recordTool(
  node: TreeNode,
  { key, name, input }: { key: string; name: string; input: Json },
  failed: boolean,
): Partial<TreeNode> {
  const tool = { key, words: describeTool(name, input), failed }
  const toolsUsed = node.toolsUsed.includes(name) ? node.toolsUsed : [...node.toolsUsed, name]
  const known = node.round.some((other) => other.key === key)
  return {
    toolsUsed,
    round: known ? node.round.map((other) => (other.key === key ? tool : other)) : [...node.round, tool],
  }
}

const recordUsage = (node: TreeNode, usage: Usage | null, newRound: boolean): Partial<TreeNode> => ({
  tokens: node.tokens + (usage === null ? 0 : usage.input + usage.output),
  nanoUsd: node.nanoUsd + (usage?.cost?.nanoUsd ?? 0),
  ...(newRound ? { round: [] } : {}),
})

const inputWordsMax = 200

/** A tool and the first text of its input. */
function describeTool(name: string, input: Json): string {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return name
  const text = Object.values(input).find((value) => typeof value === 'string')
  if (typeof text !== 'string') return name
  return `${name} ${oneLine(stripFolders(name, text.slice(0, inputWordsMax)))}`
}

/** The path of a program says little about what it does. */
const stripFolders = (name: string, text: string): string =>
  name === 'shell' ? text.replace(/^(?:'[^']*\/([^'/]+)'|\/\S*\/([^/\s]+))/, '$1$2') : text

export function plant(tree: Tree, node: TreeNode): Tree {
  if (tree.nodes.has(node.id)) return tree
  const nodes = new Map(tree.nodes).set(node.id, node)
  const caller = node.caller === null ? undefined : nodes.get(node.caller)
  if (caller === undefined) return { ...tree, nodes, roots: [...tree.roots, node.id] }
  nodes.set(caller.id, { ...caller, children: [...caller.children, node.id] })
  return { ...tree, nodes }
}

function change(tree: Tree, id: string, patch: (node: TreeNode) => Partial<TreeNode>): Tree {
  const node = tree.nodes.get(id)
  return node === undefined
    ? tree
    : { ...tree, nodes: new Map(tree.nodes).set(id, { ...node, ...patch(node) }) }
}
