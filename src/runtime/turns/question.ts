/**
 * Permission questions: a tool under an agent's `ask` waits for a person. Answered once; no answer by the
 * deadline is a no.
 */
import type { EventOf } from '../../model/event.ts'
import type { Answer, AnswerScope } from '../../model/question.ts'
import type { Json } from '../../model/json.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import { fingerprint } from '../../model/fingerprint.ts'
import { flush } from '../kernel/flush.ts'
import { listen, type PersonAnswer } from '../kernel/runtime.ts'
import type { Runtime } from './runtime.ts'
import { joinSignals, timeLeft, type Running } from '../kernel/running.ts'
import { readAll } from '../kernel/scope.ts'

const deadlineCause = 'nobody answered by the deadline'
/** Who answers a question that is asked for nobody any more. */
export const goneCause = 'the client went away'

/**
 * The id follows from the turn and the step, so that a turn that runs again asks the same question, not a
 * second one.
 */
export const questionId = (running: Running, key: string): string =>
  `question_${running.row.id.slice(5)}-${fingerprint(key)}`

/** Who allowed a tool for the rest of a session, as later questions of that session are answered. */
export const bySession = 'user, for this session'

/** Asks, and waits. A question that was answered for an earlier try of the same step has its answer already. */
export async function askPerson(
  runtime: Runtime,
  running: Running,
  tool: string,
  input: Json,
  key: string,
  gone?: AbortSignal,
): Promise<PersonAnswer> {
  const question = questionId(running, key)
  const known = await lookUp(runtime, running, question)
  if (known?.answer != null) return { answer: known.answer, by: known.by ?? '', reason: known.reason }
  const deadline = known?.deadline ?? setDeadline(runtime, running)
  const end = runtime.clock.elapsed() + (deadline - runtime.clock.now())
  if (known === null) {
    const asked = askedEvent(running, question, key, tool, input, deadline)
    if (await isPermitted(runtime, running, tool)) {
      // Asked and answered at once, so that the record reads like any other.
      const { session, id: turn } = running.row
      const answered = { type: 'question.answered' as const, session, turn, question }
      await flush(runtime, running, [asked, { ...answered, answer: 'allow', by: bySession }])
      return { answer: 'allow', by: bySession, reason: null }
    }
    await flush(runtime, running, [asked])
  }
  return waitForAnswer(runtime, running, question, end, joinSignals(running, gone)).catch(
    async (fault: unknown) => {
      // What a person allowed from now on would be done for nobody.
      if (gone?.aborted === true && !running.abort.signal.aborted)
        await answerQuestion(runtime, question, { answer: 'deny' }, goneCause)
      throw fault
    },
  )
}

/** It is never taken back, so that it still holds when the question is recorded. */
const isPermitted = ({ store }: Runtime, { row }: Running, tool: string): Promise<boolean> =>
  store.transact([`session:${row.session}`], (tx) => tx.permitted(row.session, tool))

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

type Found = { answer: Answer | null; by: string | null; reason: string | null; deadline: number }

async function lookUp(runtime: Runtime, running: Running, question: string): Promise<Found | null> {
  const known = await runtime.lists.question(question)
  const asked = known?.asked.event
  if (known == null || asked?.type !== 'question.asked') return null
  const { answer, by } = known
  return {
    answer,
    by,
    reason: answer === 'deny' ? await readReason(runtime, running, question) : null,
    deadline: asked.deadline,
  }
}

async function waitForAnswer(
  runtime: Runtime,
  running: Running,
  question: string,
  end: number,
  signal: AbortSignal,
): Promise<PersonAnswer> {
  for (;;) {
    const given = await readAnswer(runtime, running, question)
    if (given !== null) return given
    if (runtime.clock.elapsed() >= end) {
      await answerQuestion(runtime, question, { answer: 'deny' }, deadlineCause)
      const late = await readAnswer(runtime, running, question)
      return late ?? { answer: 'deny', by: deadlineCause, reason: null }
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
): Promise<PersonAnswer | null> {
  const given = await runtime.store.transact([`session:${running.row.session}`], async (tx) => {
    const facts = await tx.question(question)
    return facts?.answer == null ? null : { answer: facts.answer, by: facts.by ?? '' }
  })
  if (given === null) return null
  const reason = given.answer === 'deny' ? await readReason(runtime, running, question) : null
  return { ...given, reason }
}

/** What a person said about a denial stands in the log only. */
async function readReason(runtime: Runtime, { row }: Running, question: string): Promise<string | null> {
  const filter = { sessions: [row.session], types: ['question.answered' as const] }
  const events = await readAll(runtime.store, row.openedSeq - 1, filter)
  const answered = events.find(
    ({ event }) => event.type === 'question.answered' && event.question === question,
  )?.event
  return answered?.type === 'question.answered' ? (answered.reason ?? null) : null
}

/** What a person says: `scope` is `once` unless given, `reason` reaches the model. */
export type GivenAnswer = {
  answer: Answer
  scope?: AnswerScope | undefined
  reason?: string | undefined
}

/**
 * The first answer counts; a later one learns what it was. One for the whole session also answers what the
 * session asks about the same tool at this moment.
 */
export async function answerQuestion(
  runtime: Runtime,
  question: string,
  given: GivenAnswer,
  by: string,
): Promise<{ question: string; answer: Answer } | Refusal> {
  const known = await runtime.lists.question(question)
  const asked = known?.asked.event.type === 'question.asked' ? known.asked.event : null
  const answered = await answerOne(runtime, question, given, by, asked?.tool ?? '')
  if (isRefusal(answered) || given.scope !== 'session' || asked === null) return answered
  for (const { event } of await runtime.lists.openQuestions())
    if (event.type === 'question.asked' && event.session === asked.session && event.tool === asked.tool)
      await answerOne(runtime, event.question, { answer: given.answer }, by, asked.tool)
  return answered
}

async function answerOne(
  runtime: Runtime,
  question: string,
  { answer, scope, reason }: GivenAnswer,
  by: string,
  tool: string,
): Promise<{ question: string; answer: Answer } | Refusal> {
  return runtime.store.transact([], async (tx): Promise<{ question: string; answer: Answer } | Refusal> => {
    const facts = await tx.question(question)
    if (facts === null) return { code: 'question_unknown', question }
    if (facts.answer !== null)
      return facts.answer === answer && facts.by === by
        ? { question, answer }
        : { code: 'question_answered', question, answer: facts.answer, by: facts.by ?? '' }
    if (!facts.live) return { code: 'call_ended', why: 'the turn that asked has ended', own: false }
    tx.append({
      type: 'question.answered',
      session: facts.session,
      turn: facts.turn,
      question,
      answer,
      by,
      ...(reason === undefined || reason === '' ? {} : { reason }),
      ...(scope === 'session' ? { scope, tool } : {}),
    })
    return { question, answer }
  })
}
