/** R7: what turns hold for their calls, in tokens or in money, as it changes with a transaction. */
import type { StatementSync } from 'node:sqlite'

export type Held = Map<string, { below: number; settles: boolean }>

/**
 * What a stopped turn used instead of what it held. A caller that has ended already passed its own hold on as
 * used, so the correction goes on to its own caller; one without a budget passed nothing on.
 */
export function addBelow(write: StatementSync, first: string, below: number, settles: boolean): void {
  for (let turn: string | null = first; turn !== null;) {
    const row = write.get(below, turn) as
      | { state: string; held: number; caller_turn: string | null }
      | undefined
    turn = settles && row?.state === 'ended' && row.held > 0 ? row.caller_turn : null
  }
}

export function add(budget: Held, turn: string, below: number, settles = false): void {
  const delta = budget.get(turn)
  if (delta === undefined) budget.set(turn, { below, settles })
  else {
    delta.below += below
    delta.settles ||= settles
  }
}
