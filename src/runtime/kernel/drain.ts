/**
 * A node among others that stops: it takes nothing new, lets what is being done outside come to its end and be
 * recorded, and holds each turn before it begins anything else. Another node then goes on from there, and no
 * tool is left of which nobody knows whether it ran.
 */
import { flush } from './flush.ts'
import type { Running } from './running.ts'
import type { Runtime } from './runtime.ts'

export type Drain = {
  isOn: boolean
  /** Effects outside that are under way: models that answer, tools that run. */
  underWay: number
  /** Called when the last one has ended. */
  onEmpty: (() => void) | null
}

export const createDrain = (): Drain => ({ isOn: false, underWay: 0, onEmpty: null })

/** Before an effect begins; null where it may. While the node drains nobody comes back: the turn goes on elsewhere. */
export const holdWhileDraining = ({ drain }: Runtime, { abort }: Running): Promise<never> | null =>
  drain.isOn ? untilAborted(abort) : null

const untilAborted = (abort: AbortController): Promise<never> =>
  new Promise<never>((_, reject) => {
    const end = (): void => reject(abort.signal.reason as Error)
    if (abort.signal.aborted) end()
    else abort.signal.addEventListener('abort', end, { once: true })
  })

/** One effect outside begins, and ends. */
export const beginEffect = ({ drain }: Runtime): void => void (drain.underWay += 1)
export function endEffect({ drain }: Runtime): void {
  drain.underWay -= 1
  if (drain.underWay === 0) drain.onEmpty?.()
}

/** So long a node that stops waits for a model or a tool. */
const drainMsMax = 20_000
const drainedMs = 50

/** Other nodes go on: what is under way here ends first, and what it gave is recorded. */
export async function handOver(runtime: Runtime): Promise<void> {
  await drainNode(runtime, drainMsMax)
  // What ends a turn comes right behind its last effect.
  await runtime.clock.sleep(drainedMs)
  const unrecorded = [...runtime.running.values()].filter(({ buffer }) => buffer.length > 0)
  // What cannot be recorded now is done again by who takes the turn over.
  await Promise.all(unrecorded.map((running) => flush(runtime, running).catch(() => undefined)))
}

/** Resolves when nothing is under way any more, or the time is over. */
async function drainNode({ drain, clock }: Runtime, msMax: number): Promise<void> {
  drain.isOn = true
  if (drain.underWay === 0) return
  const over = new AbortController()
  const empty = new Promise<void>((resolve) => (drain.onEmpty = resolve))
  await Promise.race([empty, clock.sleep(msMax, over.signal).catch(() => undefined)])
  over.abort()
}
