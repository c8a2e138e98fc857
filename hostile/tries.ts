/** Runs attacks: many at once under load, or one after the other to see which of them stalls the server. */
import { latest, wallNow, type Window } from '../bench/lateness.ts'
import type { Random } from '../sim/random.ts'
import { pause, type Attack, type Ending, type Target } from './attack.ts'
import type { Victim } from './victim.ts'

export type Counts = Record<Ending, number>
export type Tried = Map<string, Counts>
export type Trying = {
  victim: Victim
  attacks: readonly Attack[]
  target: Omit<Target, 'url' | 'signal' | 'random'>
  tried: Tried
  control: readonly Window[]
}

const none = (): Counts => ({ served: 0, refused: 0, cut: 0, late: 0, fault: 0 })

async function tryOnce(
  { victim, target, tried }: Trying,
  attack: Attack,
  random: Random,
  msMax: number,
  over: AbortSignal,
): Promise<Ending> {
  const ending = await attack
    .try({ ...target, url: victim.url, random, signal: AbortSignal.any([over, AbortSignal.timeout(msMax)]) })
    .catch((): Ending => 'cut')
  const counts = tried.get(attack.kind) ?? none()
  counts[ending] += 1
  tried.set(attack.kind, counts)
  return ending
}

const mixedMsMax = 10_000

export async function runAttackers(trying: Trying, random: Random, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await Promise.race([trying.victim.up, pause(1000, over)])
    await tryOnce(trying, random.pick(trying.attacks), random, mixedMsMax, over)
    await pause(random.below(40), over)
  }
}

export type Alone = { kind: string; beyondMs: number }

const aloneMsMax = 2500
const settleMs = 350

const calmMsMax = 8000

/** What the one before still does must not count for the next. */
async function untilCalm(victim: Victim): Promise<void> {
  await victim.up
  for (let waited = 0; waited < calmMsMax; waited += 100) {
    const last = victim.lives.at(-1)?.windows.at(-1)
    if (last !== undefined && wallNow() - last.to < 250 && last.maxMs < 30) return
    await pause(100)
  }
}

/**
 * Each attack alone, as many as there is time for: the longest stall while it was answered, beyond what the
 * control process saw.
 */
export async function tryAlone(trying: Trying, random: Random, until: number): Promise<Alone[]> {
  const found: Alone[] = []
  const order = trying.attacks
    .map((attack) => ({ attack, place: random.next() }))
    .toSorted((a, b) => a.place - b.place)
  for (const { attack } of order) {
    if (wallNow() > until) break
    await untilCalm(trying.victim)
    const from = wallNow()
    const crashes = trying.victim.crashes.length
    await tryOnce(trying, attack, random, aloneMsMax, new AbortController().signal)
    await pause(settleMs)
    // One that ended the server is told of elsewhere.
    if (trying.victim.crashes.length > crashes) {
      await trying.victim.revive()
      continue
    }
    const life = trying.victim.lives.at(-1)
    const windows = life?.windows.filter((window) => window.to > from) ?? []
    const silentMs = life === undefined ? 0 : wallNow() - (life.windows.at(-1)?.to ?? wallNow())
    // A server that says nothing any more stalls too.
    const longest = Math.max(
      silentMs > 1000 ? silentMs : 0,
      ...windows.map((window) => window.maxMs - latest(trying.control, window.from, window.to)),
    )
    found.push({ kind: attack.kind, beyondMs: Math.max(0, longest) })
    await trying.victim.revive()
  }
  return found
}
