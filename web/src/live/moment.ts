import type { EventOf, EventType } from '../../../src/model/event.ts'
import type { Ledger } from './ledger.ts'

/** When an event happened. `isNew` if it came after the lists of the server were read. */
export type Moment = { at: number; seq: number; isNew: boolean }

/** Redraws the components that show a topic. */
export type Touch = (topic: string) => void

export type Folds = {
  [T in EventType]?: (ledger: Ledger, event: EventOf<T>, moment: Moment, touch: Touch) => void
}

const listMax = 1000

/** R11: keeps the newest of a list, in the order of the log. */
export function addBounded<T extends { seq: number }>(list: T[], item: T): void {
  const last = list.at(-1)
  list.push(item)
  // The past is read while new events arrive, so an item may be older than the last one.
  if (last !== undefined && last.seq > item.seq) list.sort((a, b) => a.seq - b.seq)
  if (list.length > listMax) list.splice(0, list.length - listMax)
}
