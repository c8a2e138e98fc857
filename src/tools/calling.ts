/** What the calling tools share: who may be called, how a call is asked for, and how much of it is shown. */
import type { z } from 'zod'
import type { Agent } from '../model/agent.ts'
import { inOneLine } from '../model/frame.ts'
import { cutTokensGently, headUnits, type CountTokens, type Cut } from '../model/text.ts'
import type { CallRequest, CallResult, Tool, ToolAnswer, TurnContext } from '../runtime/kernel/ports.ts'
import { parsedTool, type ToolDefinition } from './answer.ts'

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

export function whoMayBeCalled({ callable, session }: TurnContext): string {
  const left = callable.length - firstMax - lastMax
  const few = left > 0 ? [...callable.slice(0, firstMax), ...callable.slice(-lastMax)] : callable
  const more =
    left > 0
      ? `, and ${left} more, which you can call by their names too (GET /api/agents lists them all)`
      : ''
  return `Agents: ${few.map(describeAgent).join(', ')}${more}. Your own session is ${session.id}.`
}

/** Head and tail of an answer within what the calling model can hold; the rest is read with `read_output`. */
export async function shown(result: CallResult, tokensMax: number, count: CountTokens): Promise<Cut> {
  const whole = `the whole output has ${result.output.length} characters`
  const hint = `[… cut: ${whole}; read_output with call_id "${result.call}" reads it …]`
  const cut = await cutTokensGently(result.output, tokensMax, count, hint)
  return { text: cut.text, truncated: cut.truncated || result.truncated }
}

/** A call that asks for nothing special. */
const plainCall = {
  input: undefined,
  context: null,
  attachment: null,
  maxContextTokens: undefined,
  allowedTools: null,
  nested: true,
  timeoutMs: undefined,
  maxIterations: undefined,
  maxTokens: undefined,
  outputSchema: undefined,
  background: false,
} satisfies Partial<CallRequest>

type CallingDefinition<Input extends z.ZodType> = Pick<ToolDefinition<Input>, 'description' | 'input'> & {
  name: CallRequest['tool']
  request: (input: z.output<Input>) => Partial<CallRequest> & Pick<CallRequest, 'target' | 'task'>
  /** `input` is null for a call that was refused before it could be read. */
  render: (result: CallResult, shownTokens: number, input: z.output<Input> | null) => Promise<ToolAnswer>
  /** For a call that goes on in the background. */
  renderStarted?: (input: z.output<Input>, call: string) => ToolAnswer
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
    async run(input, { acts, stepKey, shownTokens }) {
      const result = await acts.call({ ...plainCall, tool: name, ...request(input) }, stepKey)
      if (result.outcome !== null) return render(result, shownTokens, input)
      if (renderStarted === undefined) throw new Error(`${name} is never called in the background`)
      return renderStarted(input, result.call)
    },
    refuse: async (refusal, input, { acts, stepKey, shownTokens }) =>
      render(await acts.refuse(name, input, refusal, stepKey), shownTokens, null),
  })
}

export const toMs = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : seconds * 1000
