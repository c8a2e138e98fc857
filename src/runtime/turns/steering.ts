/**
 * Words to a turn that runs. They stand in the log (`call.steered`), so a turn that is taken over has them too; a
 * driver takes them between two steps, and a turn does not end while one waits.
 *
 * What was given is recorded as a step with the place where it was given: a turn that runs again from its record
 * is told the same at the same place (R10).
 */
import { framePeer } from '../../model/frame.ts'
import type { Steering } from '../kernel/driven-port.ts'
import { makeStepKey } from '../kernel/recorded.ts'
import type { Running } from '../kernel/running.ts'
import { readAll } from '../kernel/scope.ts'
import type { Runtime } from './runtime.ts'

export const steerStep = 'steer_call'
const lookMs = 10
const steerNote = 'said to you while you work on your task; take it into account, then finish the task'

/** The place of a word in the turn, as a key. */
export const steerKey = (at: string): string => makeStepKey('tool', steerStep, { at })

export const createSteering = (runtime: Runtime, running: Running): Steering => ({
  begin: () => void (running.steering.isTaking = true),
  onWord(hear) {
    running.steering.hear = hear
    return () => {
      if (running.steering.hear === hear) running.steering.hear = null
    }
  },
  take: (at, ends) => take(runtime, running, at, ends),
})

async function take(
  runtime: Runtime,
  running: Running,
  at: string,
  ends: boolean,
): Promise<readonly string[]> {
  const { steering, recorded } = running
  const known = recorded?.step(steerKey(at), { kind: 'tool', name: steerStep })
  if (known?.type === 'step.ended') return known.output as string[]
  // A word that is just being recorded counts: its sender is told that it will be given.
  while (steering.coming > 0) await runtime.clock.sleep(lookMs, running.abort.signal)
  // What was said at another node just now is under the session's key.
  if (ends && runtime.place !== undefined) {
    await runtime.store.transact([`session:${running.row.session}`], async () => undefined)
    steering.looks = true
  }
  const words = steering.looks ? (await readWords(runtime, running)).slice(countGiven(running)) : []
  steering.looks = false
  if (words.length > 0) noteGiven(runtime, running, steerKey(at), words)
  else if (ends) steering.isClosed = true
  return words
}

/** What the turn has been given, by this run of it and by those before. */
function countGiven({ steering, recorded }: Running): number {
  const before = (recorded?.events ?? []).reduce(
    (sum, { event }) =>
      event.type === 'step.ended' && event.name === steerStep && Array.isArray(event.output)
        ? sum + event.output.length
        : sum,
    0,
  )
  return before + steering.given
}

export function noteGiven(runtime: Runtime, running: Running, key: string, words: string[]): void {
  running.steering.given += words.length
  running.buffer.push({
    type: 'step.ended',
    session: running.row.session,
    turn: running.row.id,
    kind: 'tool',
    name: steerStep,
    key,
    input: null,
    ok: true,
    output: words,
    usage: null,
    startedAt: runtime.clock.now(),
  })
}

/** As the agent reads them, oldest first. */
async function readWords(runtime: Runtime, { row, input }: Running): Promise<string[]> {
  const events = await readAll(runtime.store, Math.max(0, row.openedSeq - 1), {
    sessions: [row.session],
    types: ['call.steered'],
  })
  return events.flatMap(({ event }) =>
    event.type === 'call.steered' && event.turn === row.id
      ? [renderWord(input.boundary ?? null, event.from, event.text)]
      : [],
  )
}

/** A user speaks as a user; what an agent says is marked as a peer's. */
export const renderWord = (boundary: string | null, from: string | null, text: string): string =>
  from === null ? text : framePeer(boundary, { from, note: steerNote }, text)
