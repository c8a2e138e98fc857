/**
 * What Letta's clients send, read into what the runtime is asked for. They know many more fields than we do:
 * those that change nothing here are ignored, those that would promise what we do not do are refused by name.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { isRecord } from '../../model/json.ts'
import { readInput } from '../../model/read-input.ts'
import { badInput, type Refusal, isRefusal } from '../../model/refusal.ts'

const listMax = 1000

export const NewAgent = z.object({
  name: z.string().refine((name) => name.trim() !== '', 'a name that is not empty'),
  system: z.string().nullish(),
  description: z.string().nullish(),
  model: z.string().min(1, 'provider/model').nullish(),
  tools: z.array(z.string().min(1, 'the name of a tool')).nullish(),
  memory_blocks: z
    .array(z.object({ label: z.string(), value: z.string() }))
    .max(100)
    .nullish(),
})

export function readNewAgent(body: unknown) {
  const parsed = readObject(NewAgent, body)
  if (isRefusal(parsed)) return parsed
  const { name, system, description, model, tools, memory_blocks: blocks } = parsed.data
  // Letta keeps memory blocks in the prompt; here they are part of it from the beginning, so that what a
  // client says about a persona has its effect.
  const remembered = (blocks ?? []).map(({ label, value }) => `${label}: ${value}`)
  return {
    name,
    system: [system ?? '', ...remembered].filter((part) => part !== '').join('\n\n'),
    description: description ?? '',
    model: model ?? null,
    tools: tools ?? null,
  }
}

export const TurnInput = z.object({
  content: z.unknown().optional().describe('what to say to the agent: a text, or a list of text parts'),
  input: z.unknown().optional().describe('the same, as Letta calls it'),
  messages: z
    .array(
      z.object({
        role: z.enum(['user', 'system']).default('user'),
        type: z.literal('message').nullish(),
        content: z.unknown().optional(),
      }),
    )
    .min(1)
    .max(100)
    .nullish(),
  streaming: z.boolean().nullish(),
  stream_tokens: z.boolean().nullish(),
  include_pings: z.boolean().nullish(),
  override_model: unsupported("the agent's own model; make another agent for another model"),
  override_system: unsupported("the agent's own prompt; make another agent for another one"),
  client_tools: unsupported("the agent's own tools"),
})
/** `pings` are events that the client reads; without them the line is kept alive by comments. */
export type Input = { text: string; streaming: boolean; tokens: boolean; pings: boolean }

export function readSaid(body: unknown): Input | Refusal {
  const parsed = readObject(TurnInput, body)
  if (isRefusal(parsed)) return parsed
  const { content, input, messages, streaming, stream_tokens: tokens, include_pings: pings } = parsed.data
  const given =
    messages?.map((message, index) => [`messages.${index}.content`, message.content] as const) ??
    Object.entries({ content, input }).filter(([, value]) => value !== undefined && value !== null)
  if (given.length !== 1 && messages == null) {
    const both = given.length === 0 ? undefined : 'content and input'
    return badInput('content', both, 'one of content, input and messages')
  }
  const texts: string[] = []
  for (const [field, value] of given) {
    const text = readText(field, value)
    if (typeof text !== 'string') return text
    texts.push(text)
  }
  return {
    text: texts.join('\n\n'),
    streaming: streaming ?? false,
    tokens: tokens ?? false,
    pings: pings ?? true,
  }
}

const TextPart = z.object({
  type: z.literal('text', 'a part of the type "text"; other kinds are not taken').default('text'),
  text: z.string(),
})

/** A text, or parts of which each is a text. */
function readText(field: string, value: unknown): string | Refusal {
  if (typeof value === 'string')
    return value.trim() === '' ? badInput(field, value, 'a text that is not empty') : value
  if (!Array.isArray(value) || value.length === 0)
    return badInput(field, value, 'a text, or a list of text parts')
  const texts: string[] = []
  for (const [index, part] of value.entries()) {
    const read = readInput(TextPart, part, `${field}.${index}`)
    if (isRefusal(read)) return read
    texts.push(read.data.text)
  }
  return readText(field, texts.join('\n'))
}

const cursor = z.string().optional()
export const ListQuery = z.object({
  after: cursor,
  before: cursor,
  limit: z.coerce
    .number()
    .int('a whole number')
    .min(1, 'a number of at least 1')
    .transform((limit) => Math.min(limit, listMax))
    .optional(),
  order: z.enum(['asc', 'desc']).default('desc'),
  name: cursor,
  query_text: cursor,
})
export type ListQuery = Omit<z.output<typeof ListQuery>, 'limit'> & { limit: number }

/** Clients send what is not set as an empty value. */
export function readListQuery(query: unknown, limitDefault: number): ListQuery | Refusal {
  const given = Object.fromEntries(Object.entries(query ?? {}).filter(([, value]) => value !== ''))
  const read = readInput(ListQuery, given)
  return isRefusal(read) ? read : { ...read.data, limit: read.data.limit ?? limitDefault }
}

const keyCharsMax = 255

/**
 * A retry with the same `Idempotency-Key` is the same act: the key becomes its id, and the runtime gives one
 * effect to one id. The route is hashed, not the path: a key used again for another agent is refused.
 */
export function readActId(route: string, key: unknown): { id: string | null } | Refusal {
  if (key === undefined) return { id: null }
  if (typeof key !== 'string' || key === '' || key.length > keyCharsMax)
    return badInput('Idempotency-Key', key, `1 to ${keyCharsMax} characters`)
  return { id: hash('sha256', JSON.stringify(['user', 'POST', route, key]), 'base64url') }
}

function readObject<Shape extends z.ZodObject>(
  shape: Shape,
  body: unknown,
): { data: z.output<Shape> } | Refusal {
  if (!isRecord(body)) return badInput('body', body ?? undefined, 'a JSON object')
  return readInput(shape, body)
}

function unsupported(instead: string) {
  return z
    .unknown()
    .optional()
    .refine(
      (value) => value === undefined || value === null || (Array.isArray(value) && value.length === 0),
      instead,
    )
}
