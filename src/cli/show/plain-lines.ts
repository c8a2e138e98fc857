/** Calls as plain lines, for pipes and logs. Pure: `tree` is as it was before the event. */
import { toTurnId } from '../../model/id.ts'
import { explain } from '../../model/refusal.ts'
import { preview } from '../../model/text.ts'
import type { Happened, Tree } from './tree.ts'
import { oneLine } from './width.ts'

const taskPointsMax = 200

export function plainLines(tree: Tree, { event }: Happened): string[] {
  if (event.type === 'call.opened') return [calling(tree, event.turn, event.grant.agent, event.task)]
  if (event.type === 'call.refused')
    return [
      calling(tree, event.turn, event.agent, event.task),
      returned(event.agent, false, 0, 0),
      `  Error: ${oneLine(explain(event.refusal))}`,
    ]
  if (event.type !== 'call.ended') return []
  const agent = tree.nodes.get(toTurnId(event.call))?.agent ?? event.target
  const tools = event.toolCalls.length === 0 ? [] : [`  Tools used: ${event.toolCalls.join(', ')}`]
  return [
    returned(agent, event.outcome === 'completed', event.tokensUsed, event.endedAt - event.openedAt),
    ...tools,
    ...event.errors.map((error) => `  Error: ${oneLine(error)}`),
  ]
}

const calling = (tree: Tree, caller: string | null, agent: string, task: string): string =>
  `${tree.nodes.get(caller ?? '')?.agent ?? 'somebody'} calling ${oneLine(agent)} with task: ${shortened(oneLine(task))}`

const returned = (agent: string, success: boolean, tokens: number, ms: number): string =>
  `${oneLine(agent)} returned: ${success ? 'SUCCESS' : 'FAILED'} (${tokens} tokens, ${Math.round(ms / 1000)}s)`

function shortened(task: string): string {
  const cut = preview(task, taskPointsMax)
  return cut.length === task.length ? task : `${cut}…`
}
