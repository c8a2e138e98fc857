/**
 * R11: how many of the newest runs of a turn ended with their process, recorded nothing, and awaited neither a call
 * nor a person.
 */
import type { Event } from '../src/model/event.ts'
import type { NodeId } from '../src/model/id.ts'
import { actTypes } from './act-types.ts'

export class QuietRuns {
  count = 0
  /** Whether the present run has recorded something, or was stopped in good order. */
  #did = false
  /** Questions to a person that nobody has answered. */
  readonly #asked = new Set<string>()
  /** Who ran it before its present node did. */
  #nodeBefore: NodeId | null = null

  /** Of its turn. */
  apply(event: Event): void {
    if (!actTypes.has(event.type)) return
    this.#did = true
    if (event.type === 'question.asked') this.#asked.add(event.question)
    if (event.type === 'question.answered') this.#asked.delete(event.question)
  }

  /** When `heir` takes the turn from `node`. One that takes its own turn back had not ended. */
  claim(node: NodeId | null, heir: NodeId, awaitsCall: boolean): void {
    const isQuiet = !this.#did && !awaitsCall && this.#asked.size === 0
    const before = this.#nodeBefore === heir ? 0 : this.count
    this.count = isQuiet && node !== heir ? before + 1 : 0
    this.#nodeBefore = node
    this.#did = false
  }
}
