/**
 * What a node records of the turns it runs: how each opens, in the one way there is, and every later commit.
 *
 * R6: every commit of a turn passes `commit`, which refuses it when the turn has ended or another activation
 * has it.
 */
import type { Event, EventOf, Grant, Opening } from '../../model/event.ts'
import type { Activation, SessionRow, TurnRow } from '../../model/facts.ts'
import type { FlowId, Millis, SessionId, TurnId } from '../../model/id.ts'
import { nothingSpent } from '../../model/money.ts'
import { recordedOfDay } from './day-spending.ts'
import { Fenced } from './faults.ts'
import { keepTime } from './kept-time.ts'
import type { Running } from './running.ts'
import type { Runtime } from './runtime.ts'
import { AppendFault, type Key, type Tx } from './store-port.ts'

/** What was recorded: the input, and the start where the turn began at once. */
export type OpenedTurn<Input extends Opening = Opening> = {
  session: SessionRow
  input: Input
  started: EventOf<'turn.started'> | null
  at: Millis
}

/**
 * `record` decides and appends in one transaction (R1). Until it has settled, nobody here takes the turn for
 * abandoned; if it breaks off, the sweep looks for what became of it. A turn that it started runs here at once.
 */
export const openTurn = <Input extends Opening, No extends object | string>(
  runtime: Runtime,
  turn: TurnId,
  session: SessionId,
  record: () => Promise<OpenedTurn<Input> | No>,
): Promise<OpenedTurn<Input> | No> =>
  starting(runtime, turn, session, async () => {
    const opened = await record()
    if (isOpened(opened)) run(runtime, opened)
    return opened
  })

/** For a turn whose id is known only after `record` has decided. */
export function run(runtime: Runtime, { input, started, at, session }: OpenedTurn): void {
  if (started !== null) runtime.rooms.start(toTurnRow(input, started, at), session, input, null)
}

export const isOpened = <Input extends Opening>(
  recorded: OpenedTurn<Input> | object | string,
): recorded is OpenedTurn<Input> => typeof recorded === 'object' && 'started' in recorded

/** For what starts a turn without opening it, like a takeover. */
export const starting = <T>(
  runtime: Runtime,
  turn: TurnId,
  session: SessionId,
  work: () => Promise<T>,
): Promise<T> =>
  startingOne(runtime, session, (note) => {
    note(turn)
    return work()
  })

/**
 * For a turn that is known only in the transaction that starts it: `note` is told of it there, and until
 * `work` has settled it counts as starting (R6).
 */
export async function startingOne<T>(
  runtime: Runtime,
  session: SessionId,
  work: (note: (turn: TurnId) => void) => Promise<T>,
): Promise<T> {
  const noted = new Set<TurnId>()
  const note = (turn: TurnId): void => {
    if (noted.has(turn)) return
    noted.add(turn)
    runtime.starting.set(turn, (runtime.starting.get(turn) ?? 0) + 1)
  }
  try {
    return await work(note)
  } catch (error) {
    runtime.brokenOff.add(session)
    throw error
  } finally {
    for (const turn of noted) forgetOne(runtime.starting, turn)
  }
}

/** A work that was decided again and started nothing must not forget what another starts. */
function forgetOne(starting: Map<TurnId, number>, turn: TurnId): void {
  const left = (starting.get(turn) ?? 0) - 1
  if (left > 0) starting.set(turn, left)
  else starting.delete(turn)
}

/**
 * In the transaction that starts the turn: its time is kept from this moment on. Throws where this node stops: nobody
 * would run it.
 */
export function startedEvent(
  runtime: Runtime,
  session: SessionId,
  turn: TurnId,
  until: Millis,
): EventOf<'turn.started'> {
  runtime.stopping.signal.throwIfAborted()
  const deadline = Math.floor(until)
  keepTime(runtime, turn, deadline)
  return { type: 'turn.started', session, turn, node: runtime.node, epoch: 1, deadline }
}

type Sent = EventOf<'message.sent'>
type SentFields = {
  session: SessionId
  turn: TurnId | null
  message: string
  flow: FlowId
  grant: Grant
} & Pick<Sent, 'text' | 'tokens'>

/** A message of the user's own, unless the fields say otherwise. */
export const sentEvent = ({
  session,
  turn,
  message,
  flow,
  text,
  tokens,
  ...rest
}: SentFields & Partial<Sent>): Sent => ({
  type: 'message.sent',
  session,
  turn,
  message,
  flow,
  from: null,
  senderTurn: null,
  source: 'user',
  applet: null,
  inReplyTo: null,
  text,
  tokens,
  deadline: null,
  trace: null,
  ...rest,
})

/** The row as the commit just left it, so that nothing has to be read back. */
export function toTurnRow(
  input: Running['input'],
  started: EventOf<'turn.started'>,
  openedAt: Millis,
): TurnRow {
  const isCall = input.type === 'call.opened'
  return {
    id: started.turn as TurnId,
    session: started.session,
    flow: input.flow,
    state: 'running',
    call: isCall
      ? {
          id: input.call,
          caller: input.session,
          callerTurn: input.turn as TurnId,
          pending: true,
          outcome: null,
          background: input.background,
          deadline: input.deadline,
          key: input.key,
        }
      : null,
    grant: input.grant,
    node: started.node,
    epoch: started.epoch,
    deadline: started.deadline,
    stopping: null,
    openedAt,
    openedSeq: 0,
    endedSeq: null,
    tokensUsed: 0,
    tokensBelow: 0,
    spent: nothingSpent,
    nanoUsdBelow: 0,
  }
}

export const isOurs = (
  { state, node, epoch }: Pick<Activation, 'state' | 'node' | 'epoch'>,
  running: Running,
  runtime: Runtime,
): boolean => state === 'running' && node === runtime.node && epoch === running.epoch

/** R6: a stale activation is refused. */
export function assertOurs<T extends Pick<Activation, 'state' | 'node' | 'epoch'>>(
  facts: T | null | undefined,
  running: Running,
  runtime: Runtime,
): T {
  if (facts == null || facts.state !== 'running') throw new Fenced(`${running.row.id} has ended`)
  if (facts.node !== runtime.node || facts.epoch !== running.epoch)
    throw new Fenced(`${running.row.id} was taken over by ${facts.node ?? 'nobody'}`)
  return facts
}

/**
 * Takes what waits in the buffer. If the work itself says no, nothing was written and it is put back in
 * front, in order.
 * If the store fails, nobody knows whether it was written: this activation then ends, and the turn is taken
 * up again from what the log says (R10). Once the turn is ending, nothing but its end is committed.
 */
export async function commit<T>(
  runtime: Runtime,
  running: Running,
  keys: readonly Key[],
  work: (tx: Tx, buffered: Event[]) => Promise<T>,
  isEnd = false,
): Promise<T> {
  // R10: what was done before this is being written already, and comes first.
  if (running.flushing?.begun === true) await running.flushing.done.catch(() => undefined)
  // R7: it would take along what its turn is charged for, and may come too late to record that.
  if (running.isEnding && !isEnd) throw new Fenced(`${running.row.id} is ending`)
  if (running.abort.signal.reason instanceof Fenced) throw running.abort.signal.reason
  const buffered = takeBuffer(running)
  const made = record(runtime, running, keys, () => buffered, work)
  running.commits.add(made)
  try {
    return await made
  } finally {
    running.commits.delete(made)
  }
}

export function takeBuffer(running: Running): Event[] {
  const buffered = running.buffer
  running.buffer = []
  running.answerBuffered = false
  return buffered
}

/** `read` gives what was taken from the buffer; none where the work did not come so far. */
export async function record<T>(
  runtime: Runtime,
  running: Running,
  keys: readonly Key[],
  read: () => Event[],
  work: (tx: Tx, buffered: Event[]) => Promise<T>,
): Promise<T> {
  let refused: unknown
  const watched = async (tx: Tx): Promise<T> => {
    try {
      return await work(tx, read())
    } catch (error) {
      refused = error
      throw error
    }
  }
  try {
    const value = await runtime.store.transact(keys, watched)
    recordedOfDay(runtime, running.session.cwd, sumCosts(read()))
    return value
  } catch (error) {
    if (error !== refused && !(error instanceof AppendFault)) {
      recordedOfDay(runtime, running.session.cwd, sumCosts(read()))
      throw abandon(runtime, running, error)
    }
    running.buffer = [...read(), ...running.buffer]
    running.answerBuffered = true
    throw error
  }
}

const sumCosts = (events: readonly Event[]): number =>
  events.reduce(
    (sum, event) => sum + (event.type === 'step.ended' ? (event.usage?.cost?.nanoUsd ?? 0) : 0),
    0,
  )

/**
 * R10: a driver may end while commits of its parallel tools are under way, which carry what the turn has done.
 * Its end comes after them, and not at all where nobody knows what became of one.
 */
export async function settleCommits({ commits, abort }: Running): Promise<void> {
  if (commits.size > 0) await Promise.allSettled(commits)
  if (abort.signal.reason instanceof Fenced) throw abort.signal.reason
}

function abandon(runtime: Runtime, running: Running, cause: unknown): Fenced {
  const fenced = new Fenced(`it is not known whether the last commit of ${running.row.id} was made`, {
    cause,
  })
  runtime.brokenOff.add(running.row.session)
  running.abort.abort(fenced)
  for (const tell of runtime.unrecordedWaiters.get(running.row.id) ?? []) tell(fenced)
  return fenced
}
