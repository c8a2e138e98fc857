import type { StreamedEvent } from '../../wire/log.ts'
import type { TielineClient } from '../../client/client.ts'
import { surroundings } from '../../client/surroundings.ts'
import type { EventOf, Outcome } from '../../model/event.ts'
import { toTurnId } from '../../model/id.ts'
import { opensTurn } from '../../model/opening.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { connectionTo, type Connection } from '../reach/connection.ts'
import { faceOn, silentFace, type Face, type FaceStyle } from './face.ts'
import type { Terminal } from './terminal.ts'
import { emptyTree, foldDelta, foldEvent, buildNodes, withoutClients, type Tree } from './tree.ts'

export type Work = {
  session: string
  /** The message whose turn is followed. */
  message: string
  /** Sends it, or accepts it. */
  start: (signal: AbortSignal) => Promise<unknown>
  /** When it ends at the latest. */
  timeoutMs?: number | null
}

/** A text for a session as work: under the same id, sent again, it has one effect. */
export const sending = (
  client: TielineClient,
  session: string,
  text: string,
  message = newMessageId(),
): Work => ({
  session,
  message,
  start: (signal) => client.sessions.send(session, { message: text, messageId: message }, { signal }),
})

/**
 * Like the server's own ids, which sort by time and are cheap for models to read, but one digit longer, so
 * that it never takes the place of one: the ids of turn and flow are made of it.
 */
export const newMessageId = (): string =>
  `msg_${String(Math.floor((systemClock.now() - epochMs) / 1000)).padStart(9, '0')}${String(BigInt(`0x${surroundings.draw()}`) % countMax).padStart(13, '0')}`
const epochMs = 1_577_836_800_000
const countMax = 10n ** 13n

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

/** `signal` aborts when the question is over: answered elsewhere, or too late. */
export type AskPerson = (question: EventOf<'question.asked'>, signal: AbortSignal) => Promise<boolean>

export type Watch = {
  /**
   * Starts the turn of a message, and comes back when it has ended. Cancels it when `signal` aborts, or its
   * time is over.
   */
  follow(work: Work, signal: AbortSignal): Promise<WorkResult>
  /** Shows everything that a session's turns do from now on, though nothing was sent from here. */
  include(session: string): void
  /** Until nothing of what is shown runs any more, but not for long. */
  settled(): Promise<void>
  /**
   * Shows what happens while `work` is done, and is closed when that is over, so that what is printed next
   * comes below it.
   */
  shown<T>(work: () => Promise<T>): Promise<T>
  note(text: string): void
  tree(): Tree
  /** Up to where events have been seen. */
  cursor(): string | null
  close(): Promise<void>
}

export type WatchOptions = FaceStyle & {
  out: Terminal | null
  /** Asks the person who sits here; without it a question is only shown. */ askPerson?: AskPerson | undefined
  /** Shows what happened after this cursor; otherwise what happens from now on. */
  after?: string | null
  /** How long the server may be away before this gives up. */
  awayMsMax: number
}

const settleMsMax = 1500
const settleLookMs = 20
const isRunning = (tree: Tree): boolean =>
  buildNodes(withoutClients(tree)).some((node) => node.state !== 'ended')

type Waiter = {
  resolve(result: { ended: EventOf<'turn.ended'>; flow: string }): void
  reject(error: unknown): void
}

/** Resolves when events reach us: what is sent afterwards is not missed. */
export async function openWatch(client: TielineClient, options: WatchOptions): Promise<Watch> {
  let tree = emptyTree
  let cursor = options.after ?? null
  let face = silentFace
  const scope = scopeOf()
  const waiters = new Map<string, Waiter>()
  const done = new AbortController()
  const connection = connectionTo(client.url, options.awayMsMax, done.signal)
  const questions = questionsOf(client, () => face, options.askPerson)
  const changed: Connection['changed'] = (state) => {
    if (state.open) cursor ??= state.after
    connection.changed(state)
  }
  const pump = async (): Promise<void> => {
    for await (const happened of client.events({
      after: cursor,
      signal: done.signal,
      onDelta: (delta) => (tree = foldDelta(tree, delta)),
      onConnection: changed,
    })) {
      cursor = happened.seq
      if (!scope.takes(happened, (message) => waiters.has(message))) continue
      face.event(tree, happened)
      tree = foldEvent(tree, happened)
      settle(happened.event)
      questions.event(happened.event)
    }
  }
  const settle = (event: StreamedEvent['event']): void => {
    const root = event.type === 'turn.ended' ? scope.rootOf(event.turn) : null
    if (event.type !== 'turn.ended' || root === null) return
    waiters.get(root.message)?.resolve({ ended: event, flow: root.flow })
    waiters.delete(root.message)
  }
  const pumping = pump().catch((error: unknown) => connection.broken(error))
  void connection.lost.catch((error: unknown) => waiters.forEach((waiter) => waiter.reject(error)))
  await connection.ready.catch((error: unknown) => {
    done.abort()
    throw error
  })
  return {
    follow: (work, signal) => follow(client, work, signal, waiters),
    include: (session) => scope.include(session),
    async settled() {
      for (
        const until = systemClock.elapsed() + settleMsMax;
        isRunning(tree) && systemClock.elapsed() < until;
      )
        await systemClock.sleep(settleLookMs)
    },
    async shown(work) {
      if (options.conversation === true) tree = emptyTree
      face = faceOn(options.out, () => tree, options)
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

async function follow(
  client: TielineClient,
  { session, message, start, timeoutMs = null }: Work,
  signal: AbortSignal,
  waiters: Map<string, Waiter>,
): Promise<WorkResult> {
  const startedAt = systemClock.elapsed()
  const ending = new Promise<Parameters<Waiter['resolve']>[0]>((resolve, reject) =>
    waiters.set(message, { resolve, reject }),
  )
  const over = new AbortController()
  let timedOut = false
  const cancel = (): void =>
    void client.sessions.cancel(session).catch((error: unknown) => waiters.get(message)?.reject(error))
  try {
    await start(signal)
    if (signal.aborted) cancel()
    signal.addEventListener('abort', cancel, { once: true, signal: over.signal })
    if (timeoutMs !== null)
      void systemClock.sleep(timeoutMs, over.signal).then(
        () => ((timedOut = true), cancel()),
        () => undefined,
      )
    const { ended, flow } = await ending
    return resultOf(ended, {
      session,
      flow,
      durationMs: systemClock.elapsed() - startedAt,
      timedOutMs: timedOut && ended.outcome === 'cancelled' ? timeoutMs : null,
    })
  } finally {
    waiters.delete(message)
    over.abort()
  }
}

const resultOf = (
  ended: EventOf<'turn.ended'>,
  {
    timedOutMs,
    ...place
  }: Pick<WorkResult, 'session' | 'flow' | 'durationMs'> & { timedOutMs: number | null },
): WorkResult => ({
  success: ended.outcome === 'completed',
  outcome: timedOutMs === null ? ended.outcome : 'timed_out',
  output: ended.output,
  error: timedOutMs === null ? ended.error : `timed_out: no answer within ${timedOutMs} ms`,
  tokensUsed: ended.tokensUsed + ended.tokensBelow,
  toolCalls: ended.toolCalls,
  ...place,
})

/** Which events belong to what was asked for here. */
function scopeOf() {
  const turns = new Set<string>()
  const flows = new Set<string>()
  const sessions = new Set<string>()
  const roots = new Map<string, { message: string; flow: string }>()
  return {
    include: (session: string): unknown => sessions.add(session),
    rootOf: (turn: string | null) => roots.get(turn ?? '') ?? null,
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

/** One question at a time, in the order in which they were asked. */
function questionsOf(client: TielineClient, face: () => Face, askPerson: AskPerson | undefined) {
  const open = new Map<string, AbortController>()
  let before: Promise<void> = Promise.resolve()
  const answer = async (question: EventOf<'question.asked'>, { signal }: AbortController): Promise<void> => {
    if (signal.aborted) return
    if (askPerson === undefined) return face().note(unansweredWords(question, client.url))
    try {
      const allowed = await face().aside(() => askPerson(question, signal))
      await client.questions.answer(question.question, allowed ? 'allow' : 'deny')
    } catch (error) {
      if (!signal.aborted) face().note(`tieline: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return {
    event(event: StreamedEvent['event']): void {
      if (event.type === 'question.answered') {
        open.get(event.question)?.abort()
        open.delete(event.question)
      }
      if (event.type !== 'question.asked') return
      const over = new AbortController()
      open.set(event.question, over)
      before = before.then(() => answer(event, over))
    },
  }
}

export const unansweredWords = (question: EventOf<'question.asked'>, url: string): string =>
  `${question.agent} asks whether it may use ${question.tool}; nobody can be asked here. It can be answered at ${url} until its deadline; then it is a no.`
