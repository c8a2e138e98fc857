/** How many tokens a request costs where the provider does not say. */
import type { Usage } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { countGently, countRoughly, type CountTokens } from '../../model/text.ts'
import { type AskedCall, type LoopMessage, type ModelRequest } from './loop.ts'
import type { PriceUsage } from '../kernel/prices-port.ts'

/**
 * `ahead` counts what is long in slices, so that the estimate that follows finds it counted. `atOnce` is for
 * a request that is cut off: of long texts that nobody has counted yet it counts samples.
 */
export type EstimateUsage = {
  (request: ModelRequest, text: string, toolCalls: readonly AskedCall[]): Usage
  ahead(request: ModelRequest, text: string): Promise<void>
  atOnce(request: ModelRequest, text: string): Usage
  /** Adds what it costs, where there are prices. */
  price?: PriceUsage
}

/** R11: how many texts of prompts and tool descriptions are kept with their counts. */
const keptCountsMax = 512

/** Prompts, descriptions and schemas come again in every turn of an agent, so they are counted once. */
function fixedCounter(count: CountTokens): (request: ModelRequest) => number {
  const schemas = new WeakMap<object, number>()
  const texts = new Map<string, number>()
  const countKept = (text: string): number => {
    const known = texts.get(text)
    if (known !== undefined) return known
    const tokens = count(text)
    if (texts.size >= keptCountsMax) texts.clear()
    texts.set(text, tokens)
    return tokens
  }
  const countSchema = (schema: Json): number => {
    if (schema === null || typeof schema !== 'object') return count(JSON.stringify(schema))
    const tokens = schemas.get(schema) ?? count(JSON.stringify(schema))
    schemas.set(schema, tokens)
    return tokens
  }
  return ({ system, tools }) =>
    tools.reduce(
      (sum, tool) => sum + countKept(`${tool.name}\n${tool.description}`) + countSchema(tool.input),
      countKept(system),
    )
}

/**
 * Usage for answers whose provider gives none: tokens of system, messages and tools in, text and tool inputs
 * out. Each message is counted once per turn.
 */
export function usageEstimator(count: CountTokens): EstimateUsage {
  const conversations = new WeakMap<readonly LoopMessage[], { messages: number; tokens: number }>()
  const longTexts = new WeakMap<LoopMessage, number>()
  /** The end of a turn asks three times what its last request has cost. */
  const cutOff = new WeakMap<ModelRequest, { text: string; messages: number; usage: Usage }>()
  const countFixed = fixedCounter(count)
  const countInput = (request: ModelRequest): number => {
    const counted = conversations.get(request.messages) ?? { messages: 0, tokens: 0 }
    for (; counted.messages < request.messages.length; counted.messages += 1)
      counted.tokens += countMessage(request.messages[counted.messages], count)
    conversations.set(request.messages, counted)
    return counted.tokens + countFixed(request)
  }
  const countInputRoughly = (request: ModelRequest, roughly: CountTokens): number => {
    const counted = conversations.get(request.messages) ?? { messages: 0, tokens: 0 }
    const rest = request.messages.slice(counted.messages)
    return (
      rest.reduce((sum, message) => sum + countMessage(message, roughly), counted.tokens) +
      countFixed(request)
    )
  }
  const ahead = async (request: ModelRequest, text: string): Promise<void> => {
    for (const message of request.messages.slice(conversations.get(request.messages)?.messages ?? 0)) {
      const long = findLongText(message)
      if (long !== null) longTexts.set(message, await countGently(count, long))
    }
    await countGently(count, text)
  }
  const countMessage = (message: LoopMessage | undefined, countText: CountTokens): number => {
    if (message === undefined) return 0
    const tokens =
      longTexts.get(message) ??
      (message.role !== 'tool' && message.tokens !== undefined
        ? message.tokens
        : countText(renderMessage(message)))
    return message.role === 'assistant' ? tokens + countCalls(message.toolCalls, countText) : tokens
  }
  const estimate = (request: ModelRequest, text: string, toolCalls: readonly AskedCall[]): Usage => ({
    input: countInput(request),
    output: count(text) + countCalls(toolCalls, count),
    estimated: true,
  })
  const atOnce = (request: ModelRequest, text: string): Usage => {
    const known = cutOff.get(request)
    const messages = request.messages.length
    if (known?.text === text && known.messages === messages) return known.usage
    const roughly = roughCounter(count)
    const usage = { output: roughly(text), input: countInputRoughly(request, roughly), estimated: true }
    cutOff.set(request, { text, messages, usage })
    return usage
  }
  return Object.assign(estimate, { ahead, atOnce })
}

/** So much of a text is counted in one go, and so much of all texts together. */
const [unitsOfText, unitsOfAll] = [4096, 8192]

/** Of many texts: when enough of them was counted, the rest is taken to be like it. */
function roughCounter(count: CountTokens): CountTokens {
  let [looked, units, tokens] = [0, 0, 0]
  return (text) => {
    if (looked >= unitsOfAll) return Math.ceil((text.length * tokens) / units)
    const counted = countRoughly(count, text)
    looked += Math.min(text.length, unitsOfText)
    units += text.length
    tokens += counted
    return counted
  }
}

/** What of a message is to be counted. */
function renderMessage(message: LoopMessage): string {
  if (message.role !== 'tool') return message.text
  return typeof message.value === 'string' ? message.value : JSON.stringify(message.value)
}

/** Shorter ones are counted when they are needed. */
const longTextUnits = 1024

function findLongText(message: LoopMessage): string | null {
  if (message.role !== 'tool' && message.tokens !== undefined) return null
  const text = renderMessage(message)
  return text.length > longTextUnits ? text : null
}

const countCalls = (calls: readonly AskedCall[], count: CountTokens): number =>
  calls.reduce((sum, call) => sum + count(`${call.name} ${JSON.stringify(call.input)}`), 0)
