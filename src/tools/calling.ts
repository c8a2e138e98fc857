/** What the calling tools share: who may be called, and how much of an answer a model is shown. */
import type { Agent } from '../model/agent.ts'
import { inOneLine } from '../model/frame.ts'
import { cutTokensGently, headUnits, type CountTokens, type Cut } from '../model/text.ts'
import type { CallResult, TurnContext } from '../runtime/kernel/ports.ts'

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
  const title = agent.title === undefined ? null : inOneLine(headUnits(agent.title, titleUnitsMax))
  const name = title === null ? agent.name : `${title} [${agent.name}]`
  const about = headUnits(agent.description, aboutUnitsMax)
  const more = about.length < agent.description.length ? '…' : ''
  return about === '' ? name : `${name} (${inOneLine(about)}${more})`
}

/**
 * R11: this stands in the description of every calling tool, and so in every request to a model. The first
 * are configured, the last are the newest.
 */
const [firstMax, lastMax] = [30, 10]
const titleUnitsMax = 100
const aboutUnitsMax = 300

export function whoMayBeCalled({ callable, session }: TurnContext): string {
  const left = callable.length - firstMax - lastMax
  const few = left > 0 ? [...callable.slice(0, firstMax), ...callable.slice(-lastMax)] : callable
  const more =
    left > 0
      ? `, and ${left} more, which you can call by their names too (GET /api/agents lists them all)`
      : ''
  return `Agents: ${few.map(listed).join(', ')}${more}. Your own session is ${session.id}.`
}

/** Head and tail of an answer within what the calling model can hold; the rest is read with `read_output`. */
export async function shown(result: CallResult, tokensMax: number, count: CountTokens): Promise<Cut> {
  const hint = `[… cut: the whole output has ${result.output.length} characters; read_output with call_id "${result.call}" reads it …]`
  const cut = await cutTokensGently(result.output, tokensMax, count, hint)
  return { text: cut.text, truncated: cut.truncated || result.truncated }
}

export const wholeSeconds = (ms: number): number => Math.round(ms / 1000)
