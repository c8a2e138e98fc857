/** A word to a running callee: recorded first (R2), then given to it as its driver can take it. */
import { isDriven } from '../../model/agent.ts'
import type { EventOf } from '../../model/event.ts'
import { steerActKey, toTurnId, type CallId, type SessionId, type TurnId } from '../../model/id.ts'
import { type Refusal } from '../../model/refusal.ts'
import { isSameButMarks } from '../../model/secret-mark.ts'
import { byteLength } from '../../model/text.ts'
import type { Running } from '../kernel/running.ts'
import { readAll } from '../kernel/scope.ts'
import { nameSeqs, noteGiven, readWaiting, type Word } from '../turns/steering.ts'
import type { Steered } from '../../wire/calls.ts'
import type { Runtime } from './runtime.ts'

const hearMsMax = 6000

/** `from` is null for the user. `act`: tried again, the word is said once. */
export async function steerCall(
  runtime: Runtime,
  call: CallId,
  text: string,
  from: SessionId | null,
  act: string | null,
): Promise<Steered | Refusal> {
  const bytes = byteLength(text)
  const bytesMax = runtime.limits.taskBytesMax
  if (bytes > bytesMax) return { code: 'too_large', field: 'message', bytes, bytesMax }
  const said = act === null ? null : await findSaid(runtime, call, text, act)
  if (said !== null) return said
  const running = runtime.running.get(toTurnId(call))
  if (running !== undefined && !(await takesWords(runtime, running))) return deaf(running)
  // Only now: it may have closed while that was seen.
  if (running !== undefined && isClosed(running)) return ended(call)
  if (running !== undefined) running.steering.coming += 1
  try {
    const refusal = await record(runtime, { call, running }, text, from, act)
    // It has begun to run here meanwhile, or another try has said the word: that is looked at again.
    if (refusal === 'begun' || refusal === 'known') return await steerCall(runtime, call, text, from, act)
    if (refusal !== null) return refusal
    if (running === undefined) {
      const begun = runtime.running.get(toTurnId(call))
      if (begun === undefined) runtime.steeredEarly.add(toTurnId(call))
      else begun.steering.looks = true
      return { call_id: call, status: 'queued' }
    }
    running.steering.looks = true
    return { call_id: call, status: await give(runtime, running) }
  } finally {
    if (running !== undefined) running.steering.coming -= 1
  }
}

/** What became of the first try: it stays said when the call has ended, and the same act says nothing else. */
async function findSaid(
  { store }: Runtime,
  call: CallId,
  text: string,
  act: string,
): Promise<Steered | Refusal | null> {
  const row = await store.turn(toTurnId(call))
  if (row?.call == null) return null
  const { session, openedSeq } = row
  const isSaid = await store.transact(
    [`session:${session}`],
    async (tx) => (await tx.traced(session, steerActKey(act))) !== null,
  )
  if (!isSaid) return null
  const words = await readAll(store, openedSeq - 1, { sessions: [session], types: ['call.steered'] })
  const isSame = words.some(
    ({ event }) =>
      event.type === 'call.steered' &&
      event.act === act &&
      event.call === call &&
      isSameButMarks(event.text, text),
  )
  return isSame
    ? { call_id: call, status: 'queued' }
    : { code: 'message_already_sent', message: `msg_${act}` }
}

const beginMsMax = 1000
const lookMs = 20

/** A turn that has just been started may not have come to its driver. */
async function takesWords({ clock }: Runtime, { agent, steering, abort }: Running): Promise<boolean> {
  const end = clock.elapsed() + beginMsMax
  while (!isDriven(agent) && !steering.isTaking && clock.elapsed() < end && !abort.signal.aborted)
    await clock.sleep(lookMs)
  return isDriven(agent) || steering.isTaking
}

const isClosed = ({ steering, isEnding }: Running): boolean => steering.isClosed || isEnding

const deaf = ({ agent }: Running): Refusal => ({
  code: 'not_allowed',
  agent: agent.name,
  what: 'be spoken to while it works, because what runs it takes no words in between',
  allowed: ['a message to its session', 'cancelling the call and opening another'],
})

const ended = (call: CallId): Refusal => ({
  code: 'call_ended',
  why: `${call} has ended, or is just ending`,
  own: false,
})

async function record(
  runtime: Runtime,
  { call, running }: { call: CallId; running: Running | undefined },
  text: string,
  from: SessionId | null,
  act: string | null,
): Promise<Refusal | 'known' | 'begun' | null> {
  const turn = toTurnId(call)
  const row = await runtime.store.turn(turn)
  if (row?.call == null) return { code: 'call_unknown', call }
  return runtime.store.transact([`session:${row.session}`, `call:${call}`], async (tx) => {
    const facts = await tx.turn(turn)
    if (facts?.turn.call == null || facts.turn.state === 'ended' || facts.turn.stopping !== null)
      return ended(call)
    if (act !== null && (await tx.traced(row.session, steerActKey(act))) !== null) return 'known'
    if (running === undefined && runtime.running.has(turn)) return 'begun'
    tx.append({ type: 'call.steered', session: row.session, turn, call, from, text, act })
    return null
  })
}

/**
 * A word that was recorded at another node, for a turn that runs here. One that was said here is given by who
 * said it.
 */
export function hearElsewhere(
  runtime: Runtime,
  turn: TurnId,
  word: EventOf<'call.steered'> | undefined,
): void {
  const running = runtime.running.get(turn)
  if (running === undefined) return
  const { steering } = running
  steering.looks = true
  if (word === undefined || steering.hear === null || steering.coming > 0) return
  steering.coming += 1
  const done = (): void => void (steering.coming -= 1)
  give(runtime, running).then(done, (fault: unknown) => {
    done()
    runtime.report(fault)
  })
}

/**
 * Its own loop takes words between two steps; an agent with another loop where it says that it has them. It is
 * given all that waits, in the order in which it was said, and by one at a time: none is given twice.
 */
async function give(runtime: Runtime, running: Running): Promise<'injected' | 'queued'> {
  const { steering } = running
  if (steering.hear === null) return isDriven(running.agent) ? 'queued' : 'injected'
  const end = runtime.clock.elapsed() + hearMsMax
  const giving = steering.giving.then(() => giveWaiting(runtime, running, end))
  steering.giving = giving.catch(() => undefined)
  return (await giving) ? 'injected' : 'queued'
}

/** Whether nothing waits any more. */
async function giveWaiting(runtime: Runtime, running: Running, end: number): Promise<boolean> {
  const { steering } = running
  for (const word of await readWaiting(runtime, running)) {
    const { hear } = steering
    if (hear === null || word.seq === steering.unsure) return false
    if (!(await giveOne(runtime, running, hear, word, end))) return false
  }
  return true
}

/** Whether the agent has it. One that answers too late may have it all the same, unless it was given it again. */
function giveOne(
  runtime: Runtime,
  running: Running,
  hear: (text: string) => Promise<boolean>,
  word: Word,
  end: number,
): Promise<boolean> {
  const { steering } = running
  steering.unsure = word.seq
  const heard = hear(word.text)
    .finally(() => {
      if (steering.unsure === word.seq) steering.unsure = null
    })
    .then((has) => {
      if (has && !steering.given.has(word.seq))
        noteGiven(runtime, running, `steer-heard-${word.seq}`, nameSeqs([word]), [word.text])
      return has
    })
  const late = runtime.clock.sleep(end - runtime.clock.elapsed(), running.abort.signal).then(
    () => false,
    () => false,
  )
  return Promise.race([heard, late])
}
