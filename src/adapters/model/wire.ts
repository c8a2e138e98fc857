/** Between the loop's messages and the provider interface's: nothing is decided here. */
import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider'
import { leftOutNote } from '../../model/frame.ts'
import { findExcess, inletLimits } from '../../model/bounded-json.ts'
import { isRecord, type Json } from '../../model/json.ts'
import { explain } from '../../model/refusal.ts'
import { preview } from '../../model/text.ts'
import type { AskedCall, LoopMessage, ModelRequest } from '../../runtime/turns/loop.ts'
import type { ToolSpec } from '../../wire/tools.ts'

export type WireRequest = Pick<
  LanguageModelV4CallOptions,
  'prompt' | 'tools' | 'maxOutputTokens' | 'headers' | 'responseFormat'
>

/**
 * Translates the requests of one turn. Messages that an earlier request held are translated once, because the
 * loop only adds to them.
 */
export function turnWire(): (request: ModelRequest) => WireRequest {
  const prompt: LanguageModelV4Message[] = []
  let translated = 0
  let tools: LanguageModelV4FunctionTool[] = []
  let offered: ModelRequest['tools'] | null = null

  return (request) => {
    if (translated === 0) prompt.push(...makeOpening(request))
    appendMessages(prompt, request.messages, translated)
    translated = request.messages.length
    if (offered !== request.tools) tools = request.tools.map(toTool)
    offered = request.tools
    return {
      prompt,
      ...(tools.length > 0 && { tools }),
      // Providers that take both seldom take them together.
      ...(tools.length === 0 &&
        request.responseSchema != null && {
          responseFormat: { type: 'json' as const, schema: request.responseSchema as JSONSchema7 },
        }),
      ...(request.maxOutputTokens !== null && { maxOutputTokens: Math.max(1, request.maxOutputTokens) }),
      headers: {
        'idempotency-key': request.idempotencyKey,
        ...(request.trace == null ? {} : { traceparent: request.trace }),
      },
    }
  }
}

function makeOpening(request: ModelRequest): LanguageModelV4Message[] {
  const opening: LanguageModelV4Message[] =
    request.system === '' ? [] : [{ role: 'system', content: request.system }]
  // Some providers refuse a conversation that starts with an answer, which happens when older entries were
  // left out.
  if (request.messages[0]?.role === 'assistant')
    opening.push({ role: 'user', content: [{ type: 'text', text: leftOutNote }] })
  return opening
}

function appendMessages(
  prompt: LanguageModelV4Message[],
  messages: readonly LoopMessage[],
  from: number,
): void {
  for (const message of messages.slice(from)) {
    if (message.role === 'user')
      prompt.push({ role: 'user', content: [{ type: 'text', text: message.text }] })
    else if (message.role === 'assistant') prompt.push(toAssistant(message))
    else {
      const part = {
        type: 'tool-result' as const,
        toolCallId: message.id,
        toolName: message.name,
        output: toOutput(message.ok, message.value),
      }
      const last = prompt.at(-1)
      if (last?.role === 'tool') last.content.push(part)
      else prompt.push({ role: 'tool', content: [part] })
    }
  }
}

function toAssistant(message: Extract<LoopMessage, { role: 'assistant' }>): LanguageModelV4Message {
  const calls = message.toolCalls.map((call) => ({
    type: 'tool-call' as const,
    toolCallId: call.id,
    toolName: call.name,
    // Providers take only objects back; what could not be read is described to the model in the tool's
    // result.
    input: isRecord(call.input) ? call.input : {},
    ...(call.signature !== undefined && {
      providerOptions: { google: { thoughtSignature: call.signature } },
    }),
  }))
  return {
    role: 'assistant',
    content: message.text === '' ? calls : [{ type: 'text', text: message.text }, ...calls],
  }
}

function toOutput(ok: boolean, value: Json): LanguageModelV4ToolResultOutput {
  if (typeof value === 'string') return { type: ok ? 'text' : 'error-text', value }
  return { type: ok ? 'json' : 'error-json', value }
}

const toTool = (tool: ToolSpec): LanguageModelV4FunctionTool => ({
  type: 'function',
  name: tool.name,
  description: tool.description,
  inputSchema: tool.input as JSONSchema7,
})

/** A tool call as the loop runs it. Input that is not JSON stays text and is marked, for the model to know. */
export function toModelCall(part: LanguageModelV4ToolCall, fallbackId: string): AskedCall {
  const signature = findSignature(part)
  const named = {
    id: part.toolCallId === '' ? fallbackId : part.toolCallId,
    name: part.toolName,
    ...(signature !== null && { signature }),
  }
  const text = part.input.trim()
  if (text === '') return { ...named, input: {} }
  const excess = findExcess(text, 'input', inletLimits)
  if (excess !== null) return { ...named, input: preview(text, 200), unparsable: explain(excess) }
  try {
    return { ...named, input: JSON.parse(text) as Json }
  } catch (error) {
    return {
      ...named,
      input: text,
      unparsable: `${error instanceof Error ? error.message : 'unreadable'}; given: ${preview(text, 200)}`,
    }
  }
}

/**
 * Gemini refuses a later request that does not bring this back. Other providers' metadata is left out: it
 * refers to items that we do not send.
 */
function findSignature(part: LanguageModelV4ToolCall): string | null {
  for (const metadata of Object.values(part.providerMetadata ?? {})) {
    if (typeof metadata['thoughtSignature'] === 'string') return metadata['thoughtSignature']
  }
  return null
}
