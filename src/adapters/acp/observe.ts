/**
 * What an agent shows of its work while it runs: its text, its tools with their diffs, its plan. Everything is
 * bounded (R11), and what it does with our own tools is left out, since that is recorded where it happens.
 */
import { isJson, isRecord, type Json } from '../../model/json.ts'
import { exceededBound, jsonHead } from '../../model/json-head.ts'
import { cutBytes, headUnits } from '../../model/text.ts'
import type { SeenStep } from '../../runtime/kernel/driven-port.ts'
import { findOwnTool, type AskedTool } from '../../model/permission.ts'
import { readAsked, readId } from './permission.ts'
import { textAt } from './text-at.ts'

const textBytesMax = 16 * 1024
const inputBytesMax = 16 * 1024
/** All that one tool shows of what it changed. */
const diffUnitsMax = 64 * 1024
/** R11: of one turn. What comes beyond is not recorded. */
const stepsMax = 2000
const stepUnitsMax = 4 * 1024 * 1024
const entriesMax = 100
const pathMax = 1000
const wordMax = 100

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

/** What is kept of a tool until it has ended is bounded as what is recorded of it. */
type Known = { asked: AskedTool; content: Shown | null; output: Json; begun: boolean; ended: boolean }
type Shown = { text: string; diffs: Json[] }

const mergeTool = (update: Record<string, unknown>, before: Known | undefined): Known => ({
  asked: readAsked(update, before?.asked),
  content: update['content'] == null ? (before?.content ?? null) : readContent(update['content']),
  output: update['rawOutput'] == null ? (before?.output ?? null) : bounded(update['rawOutput'], textBytesMax),
  begun: before?.begun ?? false,
  ended: before?.ended ?? false,
})

/** Of a tool that has ended. */
const forgetShown = ({ asked }: Known): Known => ({
  asked: { ...asked, input: null },
  content: null,
  output: null,
  begun: true,
  ended: true,
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

/** R11 */
function boundSteps(seen: Watched['seen']): { tell: Watched['seen']; isFull: () => boolean } {
  let [steps, units] = [0, 0]
  const isFull = (): boolean => steps >= stepsMax || units >= stepUnitsMax
  return {
    isFull,
    tell(step) {
      if (isFull()) return
      steps += 1
      units += JSON.stringify([step.input, step.ended]).length
      seen(step)
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
  let [plans, cost]: [number, Json] = [0, null]
  const speaker = createSpeaker(say)
  const { tell, isFull } = boundSteps(seen)
  const keep = (id: string, known: Known): void => {
    if (tools.has(id) || (tools.size < stepsMax && !isFull())) tools.set(id, known)
  }
  const takeTool = (update: Record<string, unknown>): void => {
    const id = readId(update)
    const before = tools.get(id)
    if (before?.begun !== true) speaker.pause()
    if (before?.ended === true) return
    const known = mergeTool(update, before)
    keep(id, known)
    if (findOwnTool(known.asked, titles) !== null) return
    const step = {
      key: `seen-${prefix}-${id}`,
      name: nameOf(known.asked),
      input: describeInput(known.asked),
    }
    const isOver = update['status'] === 'completed' || update['status'] === 'failed'
    if (!known.begun && !isOver) tell({ ...step, ended: null })
    known.begun = true
    if (!isOver) return
    tell({ ...step, ended: { ok: update['status'] === 'completed', output: describeOutput(known) } })
    keep(id, forgetShown(known))
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
          return tell(planStep(`seen-${prefix}-plan-${plans}`, update['entries']))
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
      const id = readId(call)
      const before = tools.get(id)
      const asked = readAsked(call, before?.asked)
      // Some agents ask before they have said anything of the tool, and say less later.
      keep(id, { content: null, output: null, begun: false, ended: false, ...before, asked })
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
  ...(locations.length === 0 ? {} : { locations: [...locations] }),
  ...(input == null ? {} : { input: bounded(input, inputBytesMax) }),
})

/** JSON as it is where it is small, else its beginning as text. */
function bounded(value: unknown, bytesMax: number): Json {
  if (typeof value === 'string')
    return value.length <= bytesMax ? value : `${cutBytes(value, bytesMax).text}…`
  if (exceededBound(value, { bytesMax, depthMax: levelsMax }) === null) return isJson(value) ? value : null
  return `${cutBytes(jsonHead(value, bytesMax), bytesMax).text}…`
}

const levelsMax = 100

function describeOutput({ content, output }: Known): Json {
  const { text, diffs } = content ?? { text: '', diffs: [] }
  return {
    ...(text === '' ? {} : { text }),
    ...(diffs.length === 0 ? {} : { diffs }),
    // Codex has what came of it here only.
    ...(text === '' && diffs.length === 0 && output !== null ? { output } : {}),
  }
}

function readContent(content: unknown): Shown {
  const parts = (Array.isArray(content) ? content : []) as unknown[]
  const texts = parts.map((part) => (isRecord(part) ? readText(part['content']) : '')).filter(Boolean)
  const diffs: Json[] = []
  let units = 0
  for (const part of parts) {
    if (!isRecord(part) || part['type'] !== 'diff') continue
    if (diffs.length >= entriesMax || units >= diffUnitsMax) break
    const diff = readDiff(part)
    units += diff.path.length + (diff.oldText?.length ?? 0) + diff.newText.length
    diffs.push(diff)
  }
  return { text: cutBytes(texts.join('\n'), textBytesMax).text, diffs }
}

const readDiff = (part: Record<string, unknown>) => ({
  path: headUnits(textAt(part, 'path'), pathMax),
  oldText: typeof part['oldText'] === 'string' ? cutBytes(part['oldText'], textBytesMax).text : null,
  newText: typeof part['newText'] === 'string' ? cutBytes(part['newText'], textBytesMax).text : '',
})

const planStep = (key: string, entries: unknown): SeenStep => ({
  key,
  name: 'plan',
  isNote: true,
  input: null,
  ended: { ok: true, output: readPlan(entries) },
})

const readPlan = (entries: unknown): Json =>
  (Array.isArray(entries) ? entries : []).slice(0, entriesMax).flatMap((entry: unknown): Json[] =>
    isRecord(entry)
      ? [
          {
            content: textAt(entry, 'content').slice(0, 500),
            status: headUnits(textAt(entry, 'status'), wordMax),
            priority: headUnits(textAt(entry, 'priority'), wordMax),
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
    cost:
      cost === null
        ? null
        : { amount: number(cost['amount']), currency: headUnits(textAt(cost, 'currency'), wordMax) },
  }
}
