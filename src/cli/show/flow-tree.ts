import type { CallRecord } from '../../wire/calls.ts'
import type { Flow } from '../../wire/log.ts'
import { externalAgent } from '../../model/agent.ts'
import { toTurnId, type CallId } from '../../model/id.ts'
import { toNanoUsd } from '../../model/money.ts'
import { emptyTree, newNode, buildNodes, plant, type Tree, type TreeNode } from './tree.ts'

/** A tree of recorded flows; for the id of a call, only that call and what is below it. */
export function buildTree(flows: readonly Flow[], id: string): Tree {
  const tree = flows.reduce(plantFlow, emptyTree)
  const top = id.startsWith('call_') ? tree.nodes.get(toNodeId(id)) : undefined
  if (top === undefined) return tree
  const alone: Tree = { ...tree, roots: [top.id] }
  return { ...alone, nodes: new Map(buildNodes(alone).map((node) => [node.id, node])) }
}

function plantFlow(tree: Tree, { root, calls, tokensUsed, cost }: Flow): Tree {
  const planted = plant(tree, {
    ...newNode(root.turn, root.agent, root.task, root.openedAt),
    tokensTotal: tokensUsed,
    nanoUsdTotal: toNanoUsd(cost.usd ?? 0) ?? 0,
    state: root.endedAt === null ? 'running' : 'ended',
    outcome: root.outcome,
    endedAt: root.endedAt,
    // A client has what its call answered, and that is shown there.
    output: root.agent === externalAgent.name ? '' : root.output,
    // Said by a call that is shown below, or by nothing else: a refused call has no record in the flow.
    errors: root.error === null || calls.length > 0 ? [] : [root.error],
  })
  // A caller was opened before its calls, so each finds its place.
  return calls
    .toSorted((a, b) => a.created_at - b.created_at)
    .reduce((so, call) => plant(so, createNode(call, findCaller(call, root, calls))), planted)
}

/** For people: a client goes by what it is called, not by the agent that stands for all clients. */
export function nameClients(tree: Tree, flows: readonly Flow[]): Tree {
  const askers = new Map<string, string>(
    flows.flatMap(({ root }) =>
      root.agent === externalAgent.name ? [[root.turn, root.askedBy] as const] : [],
    ),
  )
  const rename = (node: TreeNode): TreeNode => ({ ...node, agent: askers.get(node.id) ?? node.agent })
  return { ...tree, nodes: new Map([...tree.nodes].map(([id, node]) => [id, rename(node)])) }
}

/** The newest turn of the caller's session that had begun before. An ephemeral session has only one. */
function findCaller(call: CallRecord, root: Flow['root'], calls: readonly CallRecord[]): string {
  const serving = calls
    .filter(
      (other) =>
        other !== call && other.targetSession === call.callerSession && other.created_at <= call.created_at,
    )
    .toSorted((a, b) => b.created_at - a.created_at)[0]
  return serving === undefined ? root.turn : toNodeId(serving.call)
}

const toNodeId = (call: string): string => toTurnId(call as CallId)

const createNode = (call: CallRecord, caller: string): TreeNode => ({
  ...newNode(toNodeId(call.call), call.target, call.task, call.created_at),
  caller,
  state: call.outcome === null ? 'running' : 'ended',
  outcome: call.outcome,
  endedAt: call.endedAt,
  deadline: call.deadline,
  tokensTotal: call.tokensUsed,
  nanoUsdTotal: toNanoUsd(call.cost.usd ?? 0) ?? 0,
  toolsUsed: call.toolCalls,
  output: call.output,
  errors: call.errors,
})
