/** Attributes of spans, in the words of OpenTelemetry's conventions for GenAI; what is ours is `tieline.…`. */
import { toUsd } from '../model/money.ts'
import type { EventOf, Outcome, Usage } from '../model/event.ts'
import type { TurnId } from '../model/id.ts'
import type { AttributeValue } from './otlp-json.ts'
import type { Content } from './telemetry-content.ts'

export type Attributes = Record<string, AttributeValue>

export function callAttributes(
  opened: EventOf<'call.opened'>,
  turn: TurnId,
  content: Content | null,
): Attributes {
  return {
    ...toolAttributes(opened.tool, opened.call),
    'gen_ai.conversation.id': opened.session,
    'tieline.turn': turn,
    'tieline.call': opened.call,
    'tieline.flow': opened.flow,
    'tieline.callee': opened.grant.agent,
    'tieline.background': opened.background,
    ...(content === null
      ? {}
      : { 'gen_ai.tool.call.arguments': content.json({ task: opened.task, input: opened.input }) }),
  }
}

export const toolAttributes = (name: string, id: string): Attributes => ({
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': name,
  'gen_ai.tool.type': 'function',
  'gen_ai.tool.call.id': id,
})

export const toolContent = (content: Content | null, input: unknown, output: unknown): Attributes =>
  content === null
    ? {}
    : { 'gen_ai.tool.call.arguments': content.json(input), 'gen_ai.tool.call.result': content.json(output) }

export const usageAttributes = (
  usage: (TokenPair & { nanoUsd?: number | undefined; plan?: number | undefined }) | null,
): Attributes =>
  usage === null
    ? {}
    : {
        'gen_ai.usage.input_tokens': usage.input,
        'gen_ai.usage.output_tokens': usage.output,
        ...(usage.nanoUsd === undefined ? {} : { 'tieline.cost.usd': toUsd(usage.nanoUsd) }),
        // A part of it: what a plan covers, and would have cost.
        ...((usage.plan ?? 0) === 0 ? {} : { 'tieline.cost.plan_usd': toUsd(usage.plan ?? 0) }),
      }
/** Undefined where it has no price. */
export const readCost = ({ cost }: Usage): { nanoUsd: number | undefined; plan: number | undefined } => ({
  nanoUsd: cost?.nanoUsd,
  plan: cost?.plan === true ? cost.nanoUsd : undefined,
})
type TokenPair = Pick<Usage, 'input' | 'output'>

export function splitModel(name: string): { provider: string | null; model: string } {
  const at = name.indexOf('/')
  return at < 0 ? { provider: null, model: name } : { provider: name.slice(0, at), model: name.slice(at + 1) }
}

/** The conventions want a provider everywhere; what runs without a model is ours. */
export function modelAttributes(name: string | null, nameProvider: (name: string) => string): Attributes {
  if (name === null) return { 'gen_ai.provider.name': 'tieline' }
  const { provider, model } = splitModel(name)
  return {
    'gen_ai.provider.name': provider === null ? 'tieline' : nameProvider(provider),
    'gen_ai.request.model': model,
  }
}

/** A cancel was intended, so it is no error. */
export const isError = (outcome: Outcome): boolean => outcome !== 'completed' && outcome !== 'cancelled'
export const errorType = (outcome: Outcome, error: string | null): Attributes =>
  isError(outcome)
    ? { 'error.type': outcome === 'failed' ? (parseErrorCode(error) ?? outcome) : outcome }
    : {}

/** `provider_failed: …` and the like begin with a code; other texts are for people, and may hold content. */
export const parseErrorCode = (error: string | null): string | null =>
  /^([a-z]+(?:_[a-z]+)+)(?::|$)/.exec(error ?? '')?.[1] ?? null

const readField = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)[name]
    : undefined

export function readErrorCode(output: unknown): string | null {
  const code = readField(readField(output, 'error'), 'code')
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : null
}

export function readAnswer(output: unknown): { finish: string | null; error: string | null } {
  const [finish, error] = [readField(output, 'finish'), readField(output, 'error')]
  const words: Record<string, string> = { 'tool-calls': 'tool_call', 'content-filter': 'content_filter' }
  return {
    finish: typeof finish === 'string' ? (words[finish] ?? finish) : null,
    error: typeof error === 'string' ? error : null,
  }
}
