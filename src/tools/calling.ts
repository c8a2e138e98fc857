/** What the calling tools share: who may be called, and how much of an answer a model is shown. */
import type { Agent } from '../model/agent.ts'
import { inOneLine } from '../model/frame.ts'
import { cutTokensGently, type CountTokens, type Cut } from '../model/text.ts'
import type { CallResult, TurnContext } from '../runtime/ports.ts'

/** Asked for in every turn of everybody who may call it. */
const listings = new WeakMap<Agent, string>()

function listed(agent: Agent): string {
  const known = listings.get(agent)
  if (known !== undefined) return known
  const listing = describe(agent)
  listings.set(agent, listing)
  return listing
}

function describe(agent: Agent): string {
  const name = agent.title === undefined ? agent.name : `${inOneLine(agent.title)} [${agent.name}]`
  return agent.description === '' ? name : `${name} (${inOneLine(agent.description)})`
}

export const whoMayBeCalled = ({ callable, session }: TurnContext): string => `Agents: ${callable.map(listed).join(', ')}. Your own session is ${session.id}.`

/** Head and tail of an answer within what the calling model can hold; the rest is read with `read_output`. */
export async function shown(result: CallResult, tokensMax: number, count: CountTokens): Promise<Cut> {
  const hint = `[… cut: the whole output has ${result.output.length} characters; read_output with call_id "${result.call}" reads it …]`
  const cut = await cutTokensGently(result.output, tokensMax, count, hint)
  return { text: cut.text, truncated: cut.truncated || result.truncated }
}

export const wholeSeconds = (ms: number): number => Math.round(ms / 1000)
