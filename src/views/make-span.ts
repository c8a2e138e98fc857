/** Makes a span when what it is about ends, from what was kept of its beginning and the event that ends it. */
import type { Agent } from '../model/agent.ts'
import type { EventOf } from '../model/event.ts'
import { describeStepMove } from '../model/fallback.ts'
import { toCallId, type FlowId, type Millis, type TurnId } from '../model/id.ts'
import { stepSpanId, turnSpanId, type Sampling } from '../model/trace.ts'
import type { Span } from './otlp-json.ts'
import {
  readAnswer,
  parseErrorCode,
  readErrorCode,
  errorType,
  isError,
  modelAttributes,
  splitModel,
  toolAttributes,
  toolContent,
  readCost,
  usageAttributes,
  type Attributes,
} from './span-attributes.ts'
import { messageText, outputText, type Content } from './telemetry-content.ts'

/** Where a turn or call stands in its trace. */
export type Place = { traceId: string; parentId: string | null; remoteParent: boolean; sampled: boolean }

/** Only what its span will say, not the events: a task may be long, and a turn open for an hour. */
export type OpenTurn = {
  place: Place
  agent: string
  flow: FlowId
  depth: number
  /** Null for a call. */
  source: string | null
  /** When it was asked for, then when it began to run. */
  startMs: Millis
  usage: { input: number; output: number; nanoUsd?: number | undefined; plan?: number | undefined } | null
  model: string | null
  content: Attributes
}
export type OpenCall = { place: Place; spanId: string; name: string; startMs: Millis; attributes: Attributes }

export type SpanSettings = {
  sampling: Sampling
  /** How content is written; null leaves it out. */
  content: Content | null
  agent: (name: string) => Agent | undefined
  /** What OpenTelemetry calls a provider that is configured under this name. */
  provider: (name: string) => string
}

export function makeTurnSpan(
  id: TurnId,
  turn: OpenTurn,
  ended: EventOf<'turn.ended'>,
  at: Millis,
  settings: SpanSettings,
): Span {
  const agent = settings.agent(turn.agent)
  const name = agent?.title ?? turn.agent
  // What a called turn says is in its call, and so on the span above.
  const said =
    settings.content === null || ended.output === ''
      ? {}
      : { 'gen_ai.output.messages': messageText(settings.content, 'assistant', ended.output) }
  return {
    ...makeSpanIn(turn.place, turnSpanId(id)),
    name: `invoke_agent ${name}`,
    kind: 'internal',
    startMs: turn.startMs,
    endMs: at,
    failed: isError(ended.outcome),
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      ...modelAttributes(turn.model ?? agent?.model ?? null, settings.provider),
      'gen_ai.agent.name': name,
      'gen_ai.agent.id': turn.agent,
      'gen_ai.conversation.id': ended.session,
      ...usageAttributes(turn.usage),
      'tieline.turn': id,
      ...(turn.source === null ? { 'tieline.call': toCallId(id) } : { 'tieline.source': turn.source }),
      'tieline.flow': turn.flow,
      'tieline.depth': turn.depth,
      'tieline.outcome': ended.outcome,
      'tieline.iterations': ended.iterations,
      'tieline.tokens.below': ended.tokensBelow,
      ...errorType(ended.outcome, ended.error),
      ...turn.content,
      ...said,
    },
  }
}

export function makeStepSpan(
  id: TurnId,
  turn: OpenTurn,
  event: EventOf<'step.ended'>,
  endMs: Millis,
  settings: SpanSettings,
): Span {
  const place = { ...makeSpanBelow(turn.place, id, event.key), startMs: event.startedAt, endMs }
  const about = {
    'gen_ai.conversation.id': event.session,
    'gen_ai.agent.name': settings.agent(turn.agent)?.title ?? turn.agent,
    'tieline.turn': id,
    'tieline.flow': turn.flow,
  }
  if (event.kind === 'tool') {
    const error = event.ok ? {} : { 'error.type': readErrorCode(event.output) ?? 'tool_error' }
    return {
      ...place,
      name: `execute_tool ${event.name}`,
      kind: 'internal',
      failed: !event.ok,
      attributes: {
        ...toolAttributes(event.name, event.key),
        ...about,
        ...error,
        ...toolContent(settings.content, event.input, event.output),
      },
    }
  }
  if (event.kind === 'move')
    return {
      ...place,
      name: `move from ${event.name}`,
      kind: 'internal',
      failed: false,
      attributes: { ...about, 'tieline.moved': describeStepMove(event.output) },
    }
  const { finish, error } = readAnswer(event.output)
  const failed = error !== null || !event.ok
  const model = event.kind === 'model' ? event.name : null
  return {
    ...place,
    name: model === null ? 'chat' : `chat ${splitModel(model).model}`,
    kind: 'client',
    failed,
    attributes: {
      'gen_ai.operation.name': 'chat',
      ...modelAttributes(model, settings.provider),
      ...about,
      ...usageAttributes(event.usage && { ...event.usage, ...readCost(event.usage) }),
      ...(event.usage?.estimated === true ? { 'tieline.usage.estimated': true } : {}),
      ...(model === null ? { 'tieline.step': event.kind } : {}),
      ...(finish === null ? {} : { 'gen_ai.response.finish_reasons': [finish] }),
      ...(failed ? { 'error.type': parseErrorCode(error) ?? 'model_error' } : {}),
      ...(settings.content === null
        ? {}
        : { 'gen_ai.output.messages': outputText(settings.content, event.output, finish) }),
    },
  }
}

export const makeCallSpan = (
  { place, spanId, name, startMs, attributes }: OpenCall,
  ended: EventOf<'call.ended'>,
  { content }: SpanSettings,
): Span => ({
  ...makeSpanIn(place, spanId),
  name: `execute_tool ${name}`,
  kind: 'internal',
  startMs,
  endMs: ended.endedAt,
  failed: isError(ended.outcome),
  attributes: {
    ...attributes,
    'tieline.outcome': ended.outcome,
    'tieline.cause': ended.cause,
    'tieline.tokens.used': ended.tokensUsed,
    ...errorType(ended.outcome, null),
    ...(content === null ? {} : { 'gen_ai.tool.call.result': content.json(ended.output) }),
  },
})

export function makeRefusedSpan(
  event: EventOf<'call.refused'>,
  at: Millis,
  turn: OpenTurn | undefined,
): Span | null {
  if (turn === undefined || !turn.place.sampled || event.turn === null) return null
  return {
    ...makeSpanBelow(turn.place, event.turn, event.key),
    name: `execute_tool ${event.tool}`,
    kind: 'internal',
    startMs: at,
    endMs: at,
    failed: true,
    attributes: {
      ...toolAttributes(event.tool, event.call),
      'gen_ai.conversation.id': event.session,
      'tieline.turn': event.turn,
      'tieline.call': event.call,
      'tieline.flow': turn.flow,
      'tieline.callee': event.agent,
      'tieline.outcome': 'refused',
      'error.type': event.refusal.code,
    },
  }
}

const makeSpanIn = ({ sampled: _sampled, ...place }: Place, spanId: string) => ({ ...place, spanId })
const makeSpanBelow = ({ traceId }: Place, turn: TurnId, key: string) => ({
  traceId,
  spanId: stepSpanId(turn, key),
  parentId: turnSpanId(turn),
  remoteParent: false,
})
