/** What a conversation of opencode says to us. Pure: messages in, answer out. */
import type { OpencodeMessage, OpencodePart } from './opencode-api.ts'

/** A message that opencode wrote itself, to go on after a summary: it belongs to the one before it. */
const isContinuation = ({ info, parts }: OpencodeMessage): boolean =>
  info.role === 'user' &&
  parts.length > 0 &&
  parts.every((part) => part.type === 'compaction' || part.synthetic === true)

const isAsked = (message: OpencodeMessage): boolean =>
  message.info.role === 'user' && !isContinuation(message)

const textIn = (parts: readonly OpencodePart[]): string =>
  parts
    .filter((part) => part.type === 'text' && part.synthetic !== true && part.ignored !== true)
    .map((part) => part.text ?? '')
    .join('')
    .trim()

export type Answer = { output: string; usage: { input: number; output: number; costUsd?: number } }

/**
 * The answer to one message, by the parent of each assistant message: a prompt that came while another was at
 * work is answered with it, so the next answer may be somebody else's.
 * Nothing of an answer to another message is taken, because its reader is another one.
 */
export function answerTo(messages: readonly OpencodeMessage[], asked: string): Answer {
  const start = messages.findIndex(({ info }) => info.id === asked)
  const ids = new Set([asked])
  for (const message of messages.slice(start + 1)) {
    if (isAsked(message)) break
    if (isContinuation(message)) ids.add(message.info.id)
  }
  const own = messages.filter(({ info }) => info.role === 'assistant' && ids.has(info.parentID ?? ''))
  const last = own.at(-1)
  if (last === undefined)
    throw new Error(
      'opencode answered it together with a later message of that session, so there is no answer to this one alone',
    )
  const { error, finish } = last.info
  if (error !== undefined)
    throw new Error(
      error.name === 'MessageAbortedError'
        ? 'it was stopped in opencode'
        : `${error.name}: ${error.data?.message ?? 'no reason was given'}`,
    )
  const output = textIn(last.parts)
  if (output === '' && finish === 'tool-calls')
    throw new Error('opencode went on with a later message of that session before this one was answered')
  return { output, usage: sumUsage(own) }
}

function sumUsage(messages: readonly OpencodeMessage[]): Answer['usage'] {
  // It says 0 for a model whose price it does not know.
  const costUsd = messages.reduce((sum, { info: { cost = 0 } }) => sum + cost, 0)
  return { ...sumTokens(messages), ...(costUsd > 0 ? { costUsd } : {}) }
}

const sumTokens = (messages: readonly OpencodeMessage[]): { input: number; output: number } =>
  messages.reduce(
    (sum, { info: { tokens } }) =>
      tokens === undefined
        ? sum
        : {
            input: sum.input + tokens.input + tokens.cache.read + tokens.cache.write,
            output: sum.output + tokens.output + tokens.reasoning,
          },
    { input: 0, output: 0 },
  )

/**
 * The message before which a fork so many messages back is cut; null to share everything. What a user said is
 * one message, all that was answered to it another; the turn that runs, by the message that it answers, is
 * not counted.
 * Throws where there are not so many.
 */
export function cutBefore(
  messages: readonly OpencodeMessage[],
  back: number,
  running: string | null,
): string | null {
  const starts: string[] = []
  let role: 'user' | 'assistant' | null = null
  for (const message of messages) {
    if (isContinuation(message)) continue
    if (message.info.role === 'user' || role !== 'assistant') starts.push(message.info.id)
    role = message.info.role
  }
  const end = running === null ? -1 : starts.indexOf(running)
  const counted = end < 0 ? starts : starts.slice(0, end)
  if (back > counted.length)
    throw new Error(`${back} messages back were asked for, and the conversation has ${counted.length}`)
  return counted[counted.length - back] ?? starts[end] ?? null
}

/** The prompt that was made for a turn, or null where none was. */
export const findPrompt = (messages: readonly OpencodeMessage[], turn: string): string | null =>
  messages.find(({ parts }) =>
    parts.some((part) => (part.metadata?.['tieline'] as { turn?: unknown } | undefined)?.turn === turn),
  )?.info.id ?? null

/** The message that a session is at work on, while it is. */
export const askedLast = (messages: readonly OpencodeMessage[]): string | null =>
  messages.findLast(isAsked)?.info.id ?? null

/**
 * As whom a session works: a prompt without it would go to the default agent, which may do more than the
 * present one.
 */
export const agentIn = (messages: readonly OpencodeMessage[]): string | undefined =>
  messages.findLast(({ info }) => info.role === 'user')?.info.agent
