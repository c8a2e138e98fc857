/** Follows the events of work that was asked for here, and shows them. */
import type { Asked } from '../chat/question.ts'
import type { NewAnswer } from '../../wire/questions.ts'
import type { StreamedEvent } from '../../wire/log.ts'
import type { TielineClient } from '../../client/client.ts'
import { surroundings } from '../../client/surroundings.ts'
import { describeError, TielineError } from '../../client/tieline-error.ts'
import type { EventOf, Outcome } from '../../model/event.ts'
import { toTurnId } from '../../model/id.ts'
import { idSuffix } from '../../model/mail.ts'
import { opensTurn } from '../../model/opening.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { trackConnection, type Connection } from '../reach/connection.ts'
import { actLater, poll } from '../reach/wait.ts'
import { openFace, silentFace, type Face, type FaceStyle } from './face.ts'
import type { Terminal } from './terminal.ts'
import { emptyTree, foldDelta, foldEvent, buildNodes, withoutClients, type Tree } from './tree.ts'

export type Work = {
  session: string
  /** The message whose turn is followed. */
  message: string
  /** Sends or accepts the message. */
  start: (signal: AbortSignal) => Promise<unknown>
  timeoutMs?: number | null
}

/** Sends a text to a session. Sent again under the same id, it has one effect. */
export const planMessage = (
  client: TielineClient,
  session: string,
  text: string,
  message = newMessageId(),
): Work => ({
  session,
  message,
  start: (signal) => client.sessions.send(session, { message: text, messageId: message }, { signal }),
})

const epochMs = 1_577_836_800_000
const countMax = 10n ** 13n

/**
 * Like the server's own ids, which sort by time and are cheap for models to read, but one digit longer, so
 * that it never equals one: the ids of turn and flow are made from it.
 */
export function newMessageId(): string {
  const seconds = Math.floor((systemClock.now() - epochMs) / 1000)
  const count = BigInt(`0x${surroundings.draw()}`) % countMax
  return `msg_${String(seconds).padStart(9, '0')}${String(count).padStart(13, '0')}`
}

export type WorkResult = {
  success: boolean
  outcome: Outcome
  output: string
  error: string | null
  tokensUsed: number
  durationMs: number
  toolCalls: string[]
  session: string
  flow: string | null
}

/** `signal` aborts when the question was answered elsewhere, or its deadline has passed. */
export type AskPerson = (question: Asked, signal: AbortSignal) => Promise<NewAnswer>

export type Watch = {
  /** Returns when the turn of a message has ended. Cancels it when `signal` aborts, or at its timeout. */
  follow(work: Work, signal: AbortSignal): Promise<WorkResult>
  /** Also shows what the turns of this session do from now on. */
  include(session: string): void
  /** Waits a moment for everything that is shown to end. */
  settle(): Promise<void>
  /** Shows what happens while `work` is done; whatever is printed afterwards comes below it. */
  show<T>(work: () => Promise<T>): Promise<T>
  note(text: string): void
  tree(): Tree
  /** The last event that was seen. */
  cursor(): string | null
  close(): Promise<void>
}

export type WatchOptions = FaceStyle & {
  out: Terminal | null
  /** Asks the person at this terminal; without it, a question is only shown. */
  askPerson?: AskPerson | undefined
  /** Begins after this cursor; by default now. */
  after?: string | null
  /** How long the server may be away before this gives up. */
  awayMsMax: number
}

const settleMsMax = 1500

type Ending = { ended: EventOf<'turn.ended'>; flow: string }
type Waiter = { resolve(ending: Ending): void; reject(error: unknown): void }

/** Resolves when events arrive, so that nothing sent afterwards is missed. */
export async function openWatch(client: TielineClient, options: WatchOptions): Promise<Watch> {
  let tree = emptyTree
  let cursor = options.after ?? null
  let face = silentFace
  const scope = openScope()
  const waiters = new Map<string, Waiter>()
  const done = new AbortController()
  const connection = trackConnection(client.url, options.awayMsMax, done.signal)
  const handleQuestion = openQuestions(client, () => face, options.askPerson)
  const onConnection: Connection['onConnection'] = (state) => {
    if (state.open) cursor ??= state.after
    connection.onConnection(state)
  }
  const pump = async (): Promise<void> => {
    for await (const happened of client.events({
      after: cursor,
      signal: done.signal,
      onDelta: (delta) => (tree = foldDelta(tree, delta)),
      onConnection,
    })) {
      cursor = happened.seq
      if (!scope.takes(happened, (message) => waiters.has(message))) continue
      face.event(tree, happened)
      tree = foldEvent(tree, happened)
      resolveWaiter(happened.event)
      handleQuestion(happened.event)
    }
  }
  const resolveWaiter = (event: StreamedEvent['event']): void => {
    const root = event.type === 'turn.ended' ? scope.findRoot(event.turn) : null
    if (event.type !== 'turn.ended' || root === null) return
    waiters.get(root.message)?.resolve({ ended: event, flow: root.flow })
    waiters.delete(root.message)
  }
  const pumping = pump().catch((error: unknown) => connection.fail(error))
  void connection.lost.catch((error: unknown) => waiters.forEach((waiter) => waiter.reject(error)))
  await connection.ready.catch((error: unknown) => {
    done.abort()
    throw error
  })
  return {
    follow: (work, signal) => follow(client, work, signal, waiters),
    include: (session) => scope.include(session),
    async settle() {
      const isOver = (): boolean => buildNodes(withoutClients(tree)).every(({ state }) => state === 'ended')
      await poll(settleMsMax, () => isOver() || null)
    },
    async show(work) {
      if (options.conversation === true) tree = emptyTree
      face = openFace(options.out, () => tree, options)
      try {
        return await work()
      } finally {
        await face.close()
        face = silentFace
      }
    },
    note: (text) => (face === silentFace ? void options.out?.write(`${text}\n`) : face.note(text)),
    tree: () => tree,
    cursor: () => cursor,
    async close() {
      done.abort()
      await pumping
    },
  }
}

/**
 * Ends what was asked for and nothing else: in a session that others use too, theirs may run while this waits. A server
 * from before an update does not know why somebody cancels, or not even which turn, and refuses to hear it.
 */
export async function endWork(
  sessions: Pick<TielineClient['sessions'], 'cancel'>,
  { session, message }: Pick<Work, 'session' | 'message'>,
  timedOut: boolean,
): Promise<void> {
  const turn = `turn_${idSuffix(message)}`
  const asks = [...(timedOut ? [{ turn, timedOut }] : []), { turn }]
  for (const ask of asks) {
    try {
      return void (await sessions.cancel(session, ask))
    } catch (fault) {
      if (!(fault instanceof TielineError) || fault.code !== 'bad_input') throw fault
    }
  }
  await sessions.cancel(session)
}

async function follow(
  client: TielineClient,
  { session, message, start, timeoutMs = null }: Work,
  signal: AbortSignal,
  waiters: Map<string, Waiter>,
): Promise<WorkResult> {
  const startedAt = systemClock.elapsed()
  const { promise: ending, ...waiter } = Promise.withResolvers<Ending>()
  // The server may be lost while the work is still being sent, before anybody looks at this.
  ending.catch(() => undefined)
  waiters.set(message, waiter)
  const over = new AbortController()
  let timedOut = false
  const cancel = (): void =>
    void endWork(client.sessions, { session, message }, timedOut).catch((error: unknown) =>
      waiters.get(message)?.reject(error),
    )
  try {
    await start(signal)
    if (signal.aborted) cancel()
    signal.addEventListener('abort', cancel, { once: true, signal: over.signal })
    if (timeoutMs !== null)
      actLater(timeoutMs, over.signal, () => {
        timedOut = true
        cancel()
      })
    const { ended, flow } = await ending
    // An older server knows only that it was cancelled.
    const isLate = timedOut && timeoutMs !== null && ['cancelled', 'timed_out'].includes(ended.outcome)
    return {
      success: ended.outcome === 'completed',
      outcome: isLate ? 'timed_out' : ended.outcome,
      output: ended.output,
      error: isLate ? `timed_out: no answer within ${timeoutMs / 1000} s, as --timeout says` : ended.error,
      tokensUsed: ended.tokensUsed + ended.tokensBelow,
      toolCalls: ended.toolCalls,
      session,
      flow,
      durationMs: systemClock.elapsed() - startedAt,
    }
  } finally {
    waiters.delete(message)
    over.abort()
  }
}

/** Decides which events belong to what was asked for here. */
function openScope() {
  const turns = new Set<string>()
  const flows = new Set<string>()
  const sessions = new Set<string>()
  const roots = new Map<string, { message: string; flow: string }>()
  return {
    include: (session: string): unknown => sessions.add(session),
    findRoot: (turn: string | null) => roots.get(turn ?? '') ?? null,
    takes({ event }: StreamedEvent, isAwaited: (message: string) => boolean): boolean {
      if (opensTurn(event)) {
        if (isAwaited(event.message)) roots.set(event.turn, { message: event.message, flow: event.flow })
        if (isAwaited(event.message) || sessions.has(event.session)) flows.add(event.flow)
        if (flows.has(event.flow)) turns.add(event.turn)
      }
      const known = sessions.has(event.session) || turns.has(event.turn ?? '')
      if (event.type === 'call.opened' && known) turns.add(toTurnId(event.call))
      return known
    },
  }
}

/** Puts one question at a time, in the order in which they were asked. */
function openQuestions(client: TielineClient, face: () => Face, askPerson: AskPerson | undefined) {
  const open = new Map<string, AbortController>()
  let before: Promise<void> = Promise.resolve()
  const answer = async (question: EventOf<'question.asked'>, { signal }: AbortController): Promise<void> => {
    if (signal.aborted) return
    if (askPerson === undefined) return face().note(describeUnanswered(question, client.url))
    try {
      const asked = await findAsked(client, question)
      const given = await face().aside(() => askPerson(asked, signal))
      await client.questions.answer(question.question, given)
    } catch (error) {
      if (!signal.aborted) face().note(`tieline: ${describeError(error)}`)
    }
  }
  return (event: StreamedEvent['event']): void => {
    if (event.type === 'question.answered') {
      open.get(event.question)?.abort()
      open.delete(event.question)
    }
    if (event.type !== 'question.asked') return
    const over = new AbortController()
    open.set(event.question, over)
    before = before.then(() => answer(event, over))
  }
}

/** With what the server knows besides: where, for what, and the agent's last words. */
const findAsked = async (client: TielineClient, question: EventOf<'question.asked'>): Promise<Asked> =>
  (await client.needs().catch(() => [])).find(({ id }) => id === question.question) ?? question

const describeUnanswered = ({ agent, tool }: EventOf<'question.asked'>, url: string): string =>
  `${agent} asks whether it may use ${tool}; nobody can be asked here. ` +
  `Answer with "tieline answer", or at ${url}, before its deadline; after that it is denied.`
