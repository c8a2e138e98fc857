/**
 * A program that speaks for a live turn through a door: it keeps its place in the tree, may try again, and
 * cancels what it asked for when it goes.
 */
import type { ToolAsk } from '../../model/event.ts'
import { canonical } from '../../model/json.ts'
import type { Refusal } from '../../model/refusal.ts'
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
  answer: Promise<ToolAnswer>
  /** How many clients wait for the answer. When the last one has gone, `gone` aborts. */
  waiting: number
  gone: AbortController
}

/**
 * Tries with an id, while their turn lives: the second gets what the first gets, unless that could not be done.
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
  if (id === null) return run(runtime, running, asked, signal)
  const known = tries.get(running) ?? new Map<string, Try>()
  tries.set(running, known)
  const what = hashText(canonical(asked))
  for (;;) {
    const before = known.get(id)
    if (before !== undefined && before.asked !== what)
      return { code: 'message_already_sent', message: `msg_${id}` }
    if (signal.aborted) return clientGone
    if (before === undefined) return join(begin(runtime, running, asked, { known, id, what }), signal)
    if (!before.gone.signal.aborted) return join(before, signal)
    // Its clients have gone, and it is just ending. What was done all the same is the answer of this one too.
    await before.answer.catch(() => undefined)
    if (known.get(id) === before) return before.answer
  }
}

function begin(
  runtime: Runtime,
  running: Running,
  asked: ToolAsk,
  { known, id, what }: { known: Map<string, Try>; id: string; what: string },
): Try {
  const gone = new AbortController()
  const answer = run(runtime, running, asked, gone.signal)
  const made = { asked: what, answer, waiting: 0, gone }
  if (known.size >= triesMax) return made
  known.set(id, made)
  // A try that broke, or was left before it was done, is no answer for later ones.
  const forget = (): void => void known.delete(id)
  answer.then(({ ok }) => {
    if (gone.signal.aborted && !ok) forget()
  }, forget)
  return made
}

async function join(tried: Try, signal: AbortSignal): Promise<ToolAnswer> {
  const leave = (): void => {
    tried.waiting -= 1
    if (tried.waiting === 0) tried.gone.abort()
  }
  tried.waiting += 1
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await tried.answer
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

async function run(
  runtime: Runtime,
  running: Running,
  asked: ToolAsk,
  gone: AbortSignal,
): Promise<ToolAnswer> {
  try {
    return await doAsked(runtime, running, asked, { gone })
  } catch (fault) {
    if (gone.aborted && !running.abort.signal.aborted && !(fault instanceof Fenced)) return clientGone
    throw fault
  }
}
