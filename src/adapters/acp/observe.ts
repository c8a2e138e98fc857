/**
 * What an agent shows of its work while it runs: its text, its tools with their diffs, its plan. Everything is
 * bounded (R11), and what it does with our own tools is left out, since that is recorded where it happens.
 */
import { isJson, isRecord, type Json } from '../../model/json.ts'
import { cutBytes } from '../../model/text.ts'
import type { SeenStep } from '../../runtime/kernel/driven-port.ts'
import { findOwnTool, type AskedTool } from '../../model/permission.ts'
import { readAsked } from './permission.ts'
import { textAt } from './text-at.ts'

const textBytesMax = 16 * 1024
const inputBytesMax = 16 * 1024
/** R11: of one turn. What comes beyond is not recorded. */
const stepsMax = 2000
const entriesMax = 100

export type Watched = {
  say: (text: string) => void
  seen: (step: SeenStep) => void
  /** The size of its context in tokens; null where it does not say. */
  holds: (tokens: number | null) => void
  /** What an agent adds to its usage in its own words, such as the windows of its plan. */
  adds: (meta: unknown) => void
}

export type Observer = {
  take(update: unknown): void
  /** What is known of a tool that it asks leave for: what it had said before, and what the request says. */
  learn(call: Record<string, unknown>): AskedTool
  /** What it says a context and its cost are now. */
  cost(): Json
  /** Whether its model has said or done anything, as far as its messages have ids. */
  worked(): { spoke: boolean; acted: boolean }
}

type Known = { asked: AskedTool; content: unknown; output: unknown; begun: boolean; ended: boolean }

const mergeTool = (update: Record<string, unknown>, before: Known | undefined): Known => ({
  asked: readAsked(update, before?.asked),
  content: update['content'] ?? before?.content,
  output: update['rawOutput'] ?? before?.output,
  begun: before?.begun ?? false,
  ended: before?.ended ?? false,
})

/** Agents say what they do between their tools in messages of their own, which would run into each other. */
function createSpeaker(say: (text: string) => void): {
  speak: (text: string, message: string) => void
  pause: () => void
  /** Whether a message had an id. */
  hasNamed: () => boolean
} {
  let [message, isOver, lastWord, isNamed] = ['', false, '', false]
  return {
    hasNamed: () => isNamed,
    speak(text, id) {
      isNamed ||= id !== ''
      if (text === '') return
      const isNext = lastWord !== '' && (isOver || id !== message) && !lastWord.endsWith('\n')
      ;[message, isOver, lastWord] = [id, false, text.slice(-1)]
      say(isNext ? `\n\n${text}` : text)
    },
    pause() {
      isOver = true
    },
  }
}

/** `prefix` tells the steps of one prompt from those of another. */
export function createObserver(
  { say, seen, holds, adds }: Watched,
  titles: ReadonlyMap<string, string>,
  prefix: string,
): Observer {
  const tools = new Map<string, Known>()
  let [steps, plans, cost]: [number, number, Json] = [0, 0, null]
  const speaker = createSpeaker(say)
  const tell = (step: SeenStep): void => {
    steps += 1
    if (steps <= stepsMax) seen(step)
  }
  const takeTool = (update: Record<string, unknown>): void => {
    const id = textAt(update, 'toolCallId')
    const before = tools.get(id)
    if (before?.begun !== true) speaker.pause()
    const known = mergeTool(update, before)
    if (tools.size < stepsMax || before !== undefined) tools.set(id, known)
    if (known.ended || findOwnTool(known.asked, titles) !== null) return
    const step = {
      key: `seen-${prefix}-${id}`,
      name: nameOf(known.asked),
      input: describeInput(known.asked),
    }
    const isOver = update['status'] === 'completed' || update['status'] === 'failed'
    if (!known.begun && !isOver) tell({ ...step, ended: null })
    known.begun = true
    if (!isOver) return
    known.ended = true
    tell({ ...step, ended: { ok: update['status'] === 'completed', output: describeOutput(known) } })
  }
  return {
    take(update) {
      if (!isRecord(update)) return
      switch (update['sessionUpdate']) {
        case 'agent_message_chunk':
          return speaker.speak(readText(update['content']), textAt(update, 'messageId'))
        case 'tool_call':
        case 'tool_call_update':
          return takeTool(update)
        case 'plan':
          plans += 1
          return tell({
            key: `seen-${prefix}-plan-${plans}`,
            name: 'plan',
            isNote: true,
            input: null,
            ended: { ok: true, output: readPlan(update['entries']) },
          })
        case 'usage_update':
          adds(update['_meta'])
          cost = readCost(update)
          return holds(typeof update['used'] === 'number' ? update['used'] : null)
        default:
          // Thoughts, commands and modes are its own.
          return
      }
    },
    learn(call) {
      const id = textAt(call, 'toolCallId')
      const before = tools.get(id)
      const asked = readAsked(call, before?.asked)
      // Some agents ask before they have said anything of the tool, and say less later.
      tools.set(id, { content: null, output: null, begun: false, ended: false, ...before, asked })
      return asked
    },
    cost: () => cost,
    worked: () => ({ spoke: speaker.hasNamed(), acted: tools.size > 0 }),
  }
}

const readText = (content: unknown): string =>
  isRecord(content) && content['type'] === 'text' && typeof content['text'] === 'string'
    ? content['text']
    : ''

/** `Edit` of Claude and `edit` of a kind are one word for a person. */
const nameOf = ({ name, kind, title }: AskedTool): string =>
  (name ?? (kind === 'other' ? title : kind)).slice(0, 100) || 'tool'

export const describeInput = ({ title, input, locations }: AskedTool): Json => ({
  title: title.slice(0, 500),
  ...(locations.length === 0 ? {} : { locations: locations.slice(0, entriesMax) }),
  ...(input == null ? {} : { input: bounded(input, inputBytesMax) }),
})

/** JSON as it is where it is small, else its beginning as text. */
function bounded(value: unknown, bytesMax: number): Json {
  if (!isJson(value)) return null
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length <= bytesMax ? value : `${cutBytes(text, bytesMax).text}…`
}

function describeOutput({ content, output }: Known): Json {
  const parts = (Array.isArray(content) ? content : []) as unknown[]
  const texts = parts.map((part) => (isRecord(part) ? readText(part['content']) : '')).filter(Boolean)
  const diffs = parts.flatMap((part) => (isRecord(part) && part['type'] === 'diff' ? [readDiff(part)] : []))
  const text = cutBytes(texts.join('\n'), textBytesMax).text
  return {
    ...(text === '' ? {} : { text }),
    ...(diffs.length === 0 ? {} : { diffs: diffs.slice(0, entriesMax) }),
    // Codex has what came of it here only.
    ...(text === '' && diffs.length === 0 && output != null ? { output: bounded(output, textBytesMax) } : {}),
  }
}

const readDiff = (part: Record<string, unknown>): Json => ({
  path: textAt(part, 'path'),
  oldText: typeof part['oldText'] === 'string' ? cutBytes(part['oldText'], textBytesMax).text : null,
  newText: typeof part['newText'] === 'string' ? cutBytes(part['newText'], textBytesMax).text : '',
})

const readPlan = (entries: unknown): Json =>
  (Array.isArray(entries) ? entries : []).slice(0, entriesMax).flatMap((entry: unknown): Json[] =>
    isRecord(entry)
      ? [
          {
            content: textAt(entry, 'content').slice(0, 500),
            status: textAt(entry, 'status'),
            priority: textAt(entry, 'priority'),
          },
        ]
      : [],
  )

function readCost(update: Record<string, unknown>): Json {
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null)
  const cost = isRecord(update['cost']) ? update['cost'] : null
  return {
    used: number(update['used']),
    size: number(update['size']),
    cost: cost === null ? null : { amount: number(cost['amount']), currency: textAt(cost, 'currency') },
  }
}
