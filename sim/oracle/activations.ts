/**
 * R6: a node puts a new activation of a turn in the place of its own old one only where that one has lost it: it
 * was told to stop, or another node has taken the turn since, and what it still does is fenced.
 */
import type { Event } from '../../src/model/event.ts'
import type { NodeId, TurnId } from '../../src/model/id.ts'
import { getOrMake } from '../get-or-make.ts'
import type { Broken } from '../ledger.ts'

type Activation = { node: NodeId; signal: AbortSignal }

export class Activations {
  readonly #running = new Map<TurnId, Set<Activation>>()
  /** Who has each turn, as the log says. */
  readonly #holders = new Map<TurnId, NodeId>()

  /** The driver of a turn begins; what is returned is called at its end. */
  begin(turn: TurnId, node: NodeId, signal: AbortSignal): () => void {
    const running = getOrMake(this.#running, turn, () => new Set<Activation>())
    const activation = { node, signal }
    running.add(activation)
    return () => void running.delete(activation)
  }

  check(event: Event): Broken {
    if (event.turn === null) return null
    if (event.type === 'turn.ended') this.#holders.delete(event.turn)
    if (event.type !== 'turn.started' && event.type !== 'session.claimed') return null
    const holder = this.#holders.get(event.turn)
    this.#holders.set(event.turn, event.node)
    if (holder !== event.node) return null
    for (const { node, signal } of this.#running.get(event.turn) ?? [])
      if (node === event.node && !signal.aborted)
        return `R6: ${node} takes ${event.turn} again, which it runs itself`
    return null
  }
}
