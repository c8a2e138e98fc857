/**
 * Words to a turn that runs. They stand in the log (`call.steered`), so a turn that is taken over has them too; a
 * driver takes them between two steps, and a turn does not end while one waits.
 *
 * What was given is recorded as a step with the place where it was given: a turn that runs again from its record
 * is told the same at the same place (R10).
 */
import { framePeer } from '../../model/frame.ts'
import { isRecord, type Json } from '../../model/json.ts'
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
  // A turn that tries its answer once more, or goes on with another agent, takes words again.
  begin: () => void Object.assign(running.steering, { isTaking: true, isClosed: false }),
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
  let words: Word[] = []
  do {
    // A word that is just being recorded counts: its sender is told that it will be given.
    while (steering.coming > 0) await runtime.clock.sleep(lookMs, running.abort.signal)
    // What was said at another node just now is under the session's key.
    if (ends && runtime.place !== undefined) {
      await runtime.store.transact([`session:${running.row.session}`], async () => undefined)
      steering.looks = true
    }
    if (steering.looks) {
      // Before it is read: what is said meanwhile may not be found, and is looked for again.
      steering.looks = false
      words = await readWaiting(runtime, running)
    }
  } while (steering.coming > 0 || steering.looks)
  if (words.length > 0) noteGiven(runtime, running, steerKey(at), nameSeqs(words), readTexts(words))
  else if (ends) steering.isClosed = true
  return readTexts(words)
}

/** As the agent reads it, with its number in the log. */
export type Word = { seq: number; text: string }

const readTexts = (words: readonly Word[]): string[] => words.map(({ text }) => text)

/** Which words a step gave, as it is recorded. Not how many: they are not always given in the order of the log. */
export const nameSeqs = (words: readonly Word[]): Json => ({ seqs: words.map(({ seq }) => seq) })

function readSeqs(input: Json): number[] {
  const seqs = isRecord(input) ? input['seqs'] : null
  return Array.isArray(seqs) ? seqs.filter((seq) => typeof seq === 'number') : []
}

/** What the turn has been given, by this run of it and by those before. */
const listGiven = ({ steering, recorded }: Running): ReadonlySet<number> =>
  new Set([
    ...steering.given,
    ...(recorded?.events ?? []).flatMap(({ event }) =>
      event.type === 'step.ended' && event.name === steerStep ? readSeqs(event.input) : [],
    ),
  ])

/** `input` names the words (`nameSeqs`), or is what a record has in its place. */
export function noteGiven(
  runtime: Runtime,
  running: Running,
  key: string,
  input: Json,
  words: string[],
): void {
  for (const seq of readSeqs(input)) running.steering.given.add(seq)
  running.buffer.push({
    type: 'step.ended',
    session: running.row.session,
    turn: running.row.id,
    kind: 'tool',
    name: steerStep,
    key,
    input,
    ok: true,
    output: words,
    usage: null,
    startedAt: runtime.clock.now(),
  })
}

/** The words that the turn was not given yet, oldest first. */
export async function readWaiting(runtime: Runtime, running: Running): Promise<Word[]> {
  const { row, input } = running
  const events = await readAll(runtime.store, Math.max(0, row.openedSeq - 1), {
    sessions: [row.session],
    types: ['call.steered'],
  })
  const given = listGiven(running)
  return events.flatMap(({ seq, event }) =>
    event.type === 'call.steered' && event.turn === row.id && !given.has(seq)
      ? [{ seq, text: renderWord(input.boundary ?? null, event.from, event.text) }]
      : [],
  )
}

/** A user speaks as a user; what an agent says is marked as a peer's. */
const renderWord = (boundary: string | null, from: string | null, text: string): string =>
  from === null ? text : framePeer(boundary, { from, note: steerNote }, text)
