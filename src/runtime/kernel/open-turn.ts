/** The one way to open a turn: what is recorded of its opening, and its start on this node. */
import type { EventOf, Grant, Opening } from '../../model/event.ts'
import type { SessionRow } from '../../model/facts.ts'
import type { FlowId, Millis, SessionId, TurnId } from '../../model/id.ts'
import type { Runtime } from './runtime.ts'
import { toTurnRow } from './running.ts'

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
export async function starting<T>(
  runtime: Runtime,
  turn: TurnId,
  session: SessionId,
  work: () => Promise<T>,
): Promise<T> {
  runtime.starting.add(turn)
  try {
    return await work()
  } catch (error) {
    runtime.brokenOff.add(session)
    throw error
  } finally {
    runtime.starting.delete(turn)
  }
}

export const startedEvent = (
  runtime: Runtime,
  session: SessionId,
  turn: TurnId,
  deadline: Millis,
): EventOf<'turn.started'> => ({
  type: 'turn.started',
  session,
  turn,
  node: runtime.node,
  epoch: 1,
  deadline: Math.floor(deadline),
})

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
