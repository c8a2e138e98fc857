/**
 * A program that speaks for a live turn through a door: it keeps its place in the tree, may try again, and
 * cancels what it asked for when it goes.
 */
import type { ToolAsk } from '../../model/event.ts'
import { canonical } from '../../model/json.ts'
import type { Refusal } from '../../model/refusal.ts'
import { giveBack, type Step } from '../turns/occurrence.ts'
import { clientGone } from '../turns/run-tool.ts'
import { Fenced } from '../kernel/faults.ts'
import type { ToolAnswer } from '../kernel/ports.ts'
import { hashText } from '../kernel/recorded.ts'
import type { Running } from '../kernel/running.ts'
import { doAsked } from './client-driver.ts'
import type { ToolUse } from './client-turn.ts'
import type { Runtime } from './runtime.ts'

type Try = {
  asked: string
  step: Step
  /** Null where nothing of it was recorded: the next try is the same step. */
  answer: Promise<ToolAnswer> | null
  isOver: boolean
  /** How many clients wait for the answer. When the last one has gone, `gone` aborts. */
  waiting: number
  gone: AbortController
}

/**
 * Tries with an id, while their turn lives: the second gets what the first gets, unless nothing of that was recorded.
 * After a crash the turn's own driver asks again.
 */
const tries = new WeakMap<Running, Map<string, Try>>()
const triesMax = 1000

export async function useInTurn(
  runtime: Runtime,
  running: Running,
  asked: ToolAsk,
  { id, signal }: ToolUse,
): Promise<ToolAnswer | Refusal> {
  if (id === null) return runOnce(runtime, running, asked, signal)
  const known = tries.get(running) ?? new Map<string, Try>()
  tries.set(running, known)
  const what = hashText(canonical(asked))
  for (;;) {
    const before = known.get(id)
    if (before !== undefined && before.asked !== what)
      return { code: 'message_already_sent', message: `msg_${id}` }
    if (signal.aborted) return clientGone
    if (before === undefined && known.size >= triesMax) forgetOldest(known)
    if (before === undefined && known.size >= triesMax) return runOnce(runtime, running, asked, signal)
    const { answer = null, step = { key: null } } = before ?? {}
    if (before === undefined || answer === null) {
      const made: Try = {
        asked: what,
        step,
        answer: null,
        isOver: false,
        waiting: 0,
        gone: new AbortController(),
      }
      known.set(id, made)
      return join(made, begin(runtime, running, asked, made), signal)
    }
    if (!before.gone.signal.aborted) return join(before, answer, signal)
    // Its clients have gone, and it is just ending. What is recorded of it all the same is the answer of this one too.
    await answer.catch(() => undefined)
    if (known.get(id) === before && before.answer !== null) return answer
  }
}

function begin(runtime: Runtime, running: Running, asked: ToolAsk, made: Try): Promise<ToolAnswer> {
  const { step, gone } = made
  made.answer = doAsked(runtime, running, asked, { gone: gone.signal, step }).catch((fault: unknown) => {
    made.answer = null
    giveBack(running, step)
    return answerFault(running, gone.signal, fault)
  })
  const over = (): void => void (made.isOver = true)
  made.answer.then(over, over)
  return made.answer
}

/** A client that tries again does so soon: of the oldest that are over nobody asks any more. */
function forgetOldest(known: Map<string, Try>): void {
  for (const [id, { isOver }] of known) if (isOver) return void known.delete(id)
}

/** Nobody can try it again: it has no id, or there are too many. */
function runOnce(runtime: Runtime, running: Running, asked: ToolAsk, gone: AbortSignal): Promise<ToolAnswer> {
  const step: Step = { key: null }
  return doAsked(runtime, running, asked, { gone, step }).catch((fault: unknown) => {
    giveBack(running, step)
    return answerFault(running, gone, fault)
  })
}

/** Something broke, and nothing is on record; or the client has gone before there was something. */
function answerFault({ abort }: Running, gone: AbortSignal, fault: unknown): ToolAnswer {
  if (gone.aborted && !abort.signal.aborted && !(fault instanceof Fenced)) return clientGone
  throw fault
}

async function join(tried: Try, answer: Promise<ToolAnswer>, signal: AbortSignal): Promise<ToolAnswer> {
  const leave = (): void => {
    tried.waiting -= 1
    if (tried.waiting === 0) tried.gone.abort()
  }
  tried.waiting += 1
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await answer
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
