import type { CallRecord } from '../../wire/calls.ts'
import type { Flow } from '../../wire/log.ts'
import { toTurnId, type CallId } from '../../model/id.ts'
import { emptyTree, newNode, buildNodes, plant, type Tree, type TreeNode } from './tree.ts'

/** For the id of a call only that call and what is below it. */
export function treeOfFlows(flows: readonly Flow[], id: string): Tree {
  const tree = flows.reduce(withFlow, emptyTree)
  const top = id.startsWith('call_') ? tree.nodes.get(nodeId(id)) : undefined
  if (top === undefined) return tree
  const alone: Tree = { ...tree, roots: [top.id] }
  return { ...alone, nodes: new Map(buildNodes(alone).map((node) => [node.id, node])) }
}

function withFlow(tree: Tree, { root, calls }: Flow): Tree {
  const planted = plant(tree, {
    ...newNode(root.turn, root.agent, root.text, root.openedAt),
    state: root.endedAt === null ? 'running' : 'ended',
    outcome: root.outcome,
    endedAt: root.endedAt,
  })
  // The callers of a call were opened before it, so each finds its place.
  return calls
    .toSorted((a, b) => a.created_at - b.created_at)
    .reduce((so, call) => plant(so, nodeOf(call, callerOf(call, root, calls))), planted)
}

/** The newest turn of the caller's session that had begun before: an ephemeral session has only one. */
function callerOf(call: CallRecord, root: Flow['root'], calls: readonly CallRecord[]): string {
  const serving = calls
    .filter(
      (other) =>
        other !== call && other.targetSession === call.callerSession && other.created_at <= call.created_at,
    )
    .toSorted((a, b) => b.created_at - a.created_at)[0]
  return serving === undefined ? root.turn : nodeId(serving.call)
}

const nodeId = (call: string): string => toTurnId(call as CallId)

const nodeOf = (call: CallRecord, caller: string): TreeNode => ({
  ...newNode(nodeId(call.call), call.target, call.task, call.created_at),
  caller,
  state: call.outcome === null ? 'running' : 'ended',
  outcome: call.outcome,
  endedAt: call.endedAt,
  deadline: call.deadline,
  tokensTotal: call.outcome === null ? null : call.tokensUsed,
  toolsUsed: call.toolCalls,
  output: call.output,
  errors: call.errors,
})
