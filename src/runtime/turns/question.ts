/**
 * Permission questions: a tool under an agent's `ask` waits for a person. Answered once; no answer by the
 * deadline is a no.
 */
import type { Answer, EventOf, StoredEvent } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import type { Refusal } from '../../model/refusal.ts'
import { fingerprint } from '../../model/fingerprint.ts'
import { flush } from '../kernel/commit.ts'
import { listen } from '../kernel/runtime.ts'
import type { Runtime } from './runtime.ts'
import { timeLeft, type Running } from '../kernel/running.ts'
import { readAll } from '../kernel/scope.ts'

const deadlineCause = 'nobody answered by the deadline'

/**
 * The id follows from the turn and the step, so that a turn that runs again asks the same question, not a
 * second one.
 */
export const questionId = (running: Running, key: string): string =>
  `question_${running.row.id.slice(5)}-${fingerprint(key)}`

/** Asks, and waits. A question that was answered before this activation has its answer already. */
export async function askPerson(
  runtime: Runtime,
  running: Running,
  tool: string,
  input: Json,
  key: string,
): Promise<{ answer: Answer; by: string }> {
  const question = questionId(running, key)
  const known = await lookUp(runtime, running, question)
  if (known?.answer != null) return { answer: known.answer, by: known.by ?? '' }
  const deadline = known?.deadline ?? setDeadline(runtime, running)
  const end = runtime.clock.elapsed() + (deadline - runtime.clock.now())
  if (known === null)
    await flush(runtime, running, [askedEvent(running, question, key, tool, input, deadline)])
  return waitForAnswer(runtime, running, question, end)
}

/** A little before the turn's own end, so that it can still use the answer. */
function setDeadline(runtime: Runtime, running: Running): number {
  const left = timeLeft(runtime, running)
  return Math.floor(runtime.clock.now() + Math.max(0, left - Math.min(2000, left * 0.05)))
}

function askedEvent(
  running: Running,
  question: string,
  key: string,
  tool: string,
  input: Json,
  deadline: number,
): EventOf<'question.asked'> {
  const { row, agent } = running
  return {
    type: 'question.asked',
    session: row.session,
    turn: row.id,
    question,
    key,
    agent: agent.name,
    tool,
    input,
    path: row.grant.path.map((hop) => hop.agent),
    flow: row.flow,
    deadline,
  }
}

type Found = { answer: Answer | null; by: string | null; deadline: number }

/** Only a turn that was taken over can have asked before. */
async function lookUp(runtime: Runtime, running: Running, question: string): Promise<Found | null> {
  if (running.recorded === null) return null
  const events = await readAll(runtime.store, running.row.openedSeq - 1, {
    sessions: [running.row.session],
    types: ['question.asked', 'question.answered'],
  })
  return foundIn(events, question)
}

function foundIn(events: readonly StoredEvent[], question: string): Found | null {
  let found: Found | null = null
  for (const { event } of events) {
    if (event.type === 'question.asked' && event.question === question)
      found = { answer: null, by: null, deadline: event.deadline }
    if (event.type === 'question.answered' && event.question === question && found !== null)
      found = { ...found, answer: event.answer, by: event.by }
  }
  return found
}

async function waitForAnswer(
  runtime: Runtime,
  running: Running,
  question: string,
  end: number,
): Promise<{ answer: Answer; by: string }> {
  const { signal } = running.abort
  for (;;) {
    const given = await readAnswer(runtime, running, question)
    if (given !== null) return given
    if (runtime.clock.elapsed() >= end) {
      await answerQuestion(runtime, question, 'deny', deadlineCause)
      return (await readAnswer(runtime, running, question)) ?? { answer: 'deny', by: deadlineCause }
    }
    await told(runtime, question, end - runtime.clock.elapsed(), signal)
  }
}

const lookAgainMs = 1000

/** A hint makes it quick; looking once a second makes it sure. */
function told(runtime: Runtime, question: string, leftMs: number, signal: AbortSignal): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const forget = (): void => {
      clearAlarm()
      unsubscribe()
      signal.removeEventListener('abort', abort)
    }
    const settle = (): void => {
      forget()
      resolve()
    }
    // A promise that was resolved cannot be rejected any more, and the wait would go on without end.
    const abort = (): void => {
      forget()
      reject(signal.reason)
    }
    const clearAlarm = runtime.alarm.after(Math.min(leftMs, lookAgainMs), settle)
    const unsubscribe = listen(runtime.questionWaiters, question, settle)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}

async function readAnswer(
  runtime: Runtime,
  running: Running,
  question: string,
): Promise<{ answer: Answer; by: string } | null> {
  return runtime.store.transact([`session:${running.row.session}`], async (tx) => {
    const facts = await tx.question(question)
    return facts?.answer == null ? null : { answer: facts.answer, by: facts.by ?? '' }
  })
}

/** The first answer counts; a later one learns what it was. */
export async function answerQuestion(
  runtime: Runtime,
  question: string,
  answer: Answer,
  by: string,
): Promise<{ question: string; answer: Answer } | Refusal> {
  return runtime.store.transact([], async (tx): Promise<{ question: string; answer: Answer } | Refusal> => {
    const facts = await tx.question(question)
    if (facts === null) return { code: 'question_unknown', question }
    if (facts.answer !== null)
      return facts.answer === answer && facts.by === by
        ? { question, answer }
        : { code: 'question_answered', question, answer: facts.answer, by: facts.by ?? '' }
    if (!facts.live) return { code: 'call_ended', why: 'the turn that asked has ended' }
    tx.append({ type: 'question.answered', session: facts.session, turn: facts.turn, question, answer, by })
    return { question, answer }
  })
}
