/** What the calling tools share: who may be called, and how a call is asked for. */
import { z } from 'zod'
import type { Agent } from '../model/agent.ts'
import { ContextFilter } from '../model/context.ts'
import { inOneLine } from '../model/frame.ts'
import { headUnits, type CountTokens } from '../model/text.ts'
import { plainCall, renderBegun, renderResult, toCallRequest, cutResult } from '../runtime/calls/sub-agent.ts'
import type {
  CallRequest,
  CallResult,
  Tool,
  StartedCall,
  ToolAnswer,
  TurnContext,
} from '../runtime/kernel/ports.ts'
import { once, parsedTool, Task, toJsonSchema, type ToolDefinition } from './answer.ts'
import { SubAgentInput } from '../wire/calls.ts'
import { isSessionId } from '../model/id.ts'

/**
 * R11: this is part of the description of every calling tool, and so of every request to a model. The first
 * are configured, the last are the newest.
 */
const [firstMax, lastMax] = [30, 10]
const titleUnitsMax = 100
const aboutUnitsMax = 300

/** Asked for in every turn of everybody who may call it. */
const descriptions = new WeakMap<Agent, string>()

function describeAgent(agent: Agent): string {
  const known = descriptions.get(agent)
  if (known !== undefined) return known
  const title = agent.title === undefined ? null : inOneLine(headUnits(agent.title, titleUnitsMax))
  const name = title === null ? agent.name : `${title} [${agent.name}]`
  const about = headUnits(agent.description, aboutUnitsMax)
  const more = about.length < agent.description.length ? '…' : ''
  const described = about === '' ? name : `${name} (${inOneLine(about)}${more})`
  descriptions.set(agent, described)
  return described
}

/** A client is not told which session it is: it may keep this for the next one. */
export const nameSelf = ({ session, atDoor = false }: TurnContext): string =>
  atDoor ? 'list-session says which session is yours (you).' : `Your own session is ${session.id}.`

export function whoMayBeCalled(turn: TurnContext): string {
  const { callable, atDoor = false } = turn
  if (atDoor) return `An unknown name is answered with those that there are. ${nameSelf(turn)}`
  const left = callable.length - firstMax - lastMax
  const few = left > 0 ? [...callable.slice(0, firstMax), ...callable.slice(-lastMax)] : callable
  const more =
    left > 0
      ? `, and ${left} more, which you can call by their names too (GET /api/agents lists them all)`
      : ''
  return `Agents: ${few.map(describeAgent).join(', ')}${more}. ${nameSelf(turn)}`
}

type CallingDefinition<Input extends z.ZodType> = Pick<ToolDefinition<Input>, 'description' | 'input'> & {
  name: CallRequest['tool']
  request: (input: z.output<Input>) => Partial<CallRequest> & Pick<CallRequest, 'target' | 'task'>
  /** `input` is null for a call that was refused before it could be read. */
  render: (result: CallResult, shownTokens: number, input: z.output<Input> | null) => Promise<ToolAnswer>
  /** For a call that goes on in the background. */
  renderStarted?: (input: z.output<Input>, started: StartedCall, isClient: boolean) => ToolAnswer
}

/** A call records itself, also one that is refused. */
export function callingTool<Input extends z.ZodType>({
  name,
  request,
  render,
  renderStarted,
  ...described
}: CallingDefinition<Input>): Tool {
  return parsedTool({
    ...described,
    name,
    effect: 'call',
    calling: true,
    async run(input, { acts, stepKey, shownTokens, session }) {
      const result = await acts.call({ ...plainCall, tool: name, ...request(input) }, stepKey)
      if (result.outcome === 'refused')
        return { ...(await render(result, shownTokens, input)), refused: true }
      if (result.outcome !== null) return render(result, shownTokens, input)
      if (renderStarted === undefined) throw new Error(`${name} is never called in the background`)
      return renderStarted(input, result, session.kind === 'external')
    },
    refuse: async (refusal, input, { acts, stepKey, shownTokens }) => ({
      ...(await render(await acts.refuse(name, input, refusal, stepKey), shownTokens, null)),
      refused: true,
    }),
  })
}

/** `sub_agent`: hands a task to a named agent in a fresh session with filtered context, and waits for it. */
export function subAgentTool(count: CountTokens): Tool {
  const tool = makeSubAgent(count)
  return {
    ...tool,
    describe: (turn) =>
      turn.session.kind === 'external'
        ? { ...tool.describe(turn), input: clientSchema() }
        : tool.describe(turn),
  }
}

/** A client outside keeps its own conversation, so nothing of it can be passed on from here. */
const clientSchema = once(() =>
  toJsonSchema(
    SubAgentInput.extend({
      context: ContextFilter.pick({ include_workspace: true, workspace_files: true })
        .partial()
        .optional()
        .describe('what it should see of your directory; nothing by default'),
    }),
  ),
)

const makeSubAgent = (count: CountTokens): Tool =>
  callingTool({
    name: 'sub_agent',
    description: (turn) =>
      'Gives another agent a task in a fresh session and waits for its result; it sees only the task and what ' +
      'you pass. For one that remembers: call_agent; for a copy of yourself: subagent. ' +
      whoMayBeCalled(turn),
    input: SubAgentInput,
    request: toCallRequest,
    render: (result, shownTokens) => renderResult(result, shownTokens, count),
    renderStarted: ({ agent_name }, started, isClient) => renderBegun(agent_name, started, isClient),
  })

/** `call_agent`: asks an agent that keeps its own conversation, and waits for its answer. */
const Input = z.strictObject({
  agent_id: z
    .string()
    .min(1, 'the id of a session or the name of an agent')
    .describe('a session id, or the name of an agent'),
  message: Task.describe('what you ask'),
  timeout_ms: z.number().min(0).optional().describe('default 30000, at most 300000'),
})

export const callAgentTool = (count: CountTokens): Tool =>
  callingTool({
    name: 'call_agent',
    description: (turn) =>
      'Asks an agent that remembers its conversation, and waits for the answer. For a task that needs no memory ' +
      'use sub_agent. ' +
      whoMayBeCalled(turn),
    input: Input,
    request: ({ agent_id: id, message, timeout_ms: timeoutMs }) => ({
      target: isSessionId(id) ? { session: id } : { agent: id },
      task: message,
      timeoutMs,
    }),
    async render(result, shownTokens, input) {
      const { text, truncated } = await cutResult(result, shownTokens, count)
      const success = result.outcome === 'completed'
      return {
        ok: success,
        value: {
          agent_id: input?.agent_id ?? result.agent,
          success,
          response: text,
          error: result.errors[0] ?? null,
          outcome: result.outcome,
          call_id: result.call,
          duration_ms: result.durationMs,
          call_chain: result.path,
          truncated,
        },
      }
    },
  })
