/**
 * A transaction that is watched: R1 says that its facts lie within the keys it named or was given by
 * NeedsKeys.
 */
import type { Event } from '../src/model/event.ts'
import type { OpenFacts } from '../src/model/facts.ts'
import type { NodeId } from '../src/model/id.ts'
import { isWaiting, idSuffix } from '../src/model/mail.ts'
import type { Key, Tx } from '../src/runtime/kernel/store-port.ts'
import type { Shared } from './shared.ts'

export function watchTx(
  { bug, fail, store }: Pick<Shared, 'bug' | 'fail' | 'store'>,
  given: Tx,
  held: Pick<ReadonlySet<string>, 'has'>,
  events: Event[],
  node: NodeId,
): Tx {
  const tx = bug?.tx?.(given, store) ?? given
  const covered = (what: string, ...keys: Key[]): void => {
    const missing = keys.find((key) => !held.has(key))
    if (missing !== undefined) fail(`R1: the facts of ${what} were read without ${missing}`)
  }
  return {
    ...tx,
    async turn(id) {
      const facts = await tx.turn(id)
      if (facts === null) return null
      covered(id, `session:${facts.turn.session}`)
      return bug?.turn?.(facts) ?? facts
    },
    async activation(id) {
      const facts = await tx.activation(id)
      return facts === null ? null : (bug?.activation?.(facts, id, node) ?? facts)
    },
    async session(id) {
      const facts = await tx.session(id)
      covered(id, `session:${id}`)
      return bug?.session?.(facts) ?? facts
    },
    async open(query) {
      const facts = await tx.open(query)
      if (facts === null) return null
      covered(query.call, ...listOpenKeys(query, facts))
      return bug?.open?.(facts, node) ?? facts
    },
    async send(query) {
      const facts = await tx.send(query)
      covered(
        'a message',
        `session:${query.target}`,
        `flow:${facts.sender?.turn.flow ?? query.flow}`,
        ...(facts.sender === null ? [] : [`session:${facts.sender.turn.session}` as const]),
      )
      return facts
    },
    async message(id) {
      const facts = await tx.message(id)
      const waits = facts !== null && isWaiting(facts)
      covered(id, waits ? `session:${facts.to ?? ''}` : `message:${idSuffix(id)}`)
      return facts
    },
    async inbox(session, ask) {
      covered(`the inbox of ${session}`, `session:${session}`)
      return tx.inbox(session, ask)
    },
    async below(turn) {
      const rows = await tx.below(turn)
      covered(turn, ...rows.map((row): Key => `session:${row.turn.session}`))
      return bug?.below?.(rows) ?? rows
    },
    append(...more) {
      for (const event of more) {
        events.push(event)
        // The row of the callee changes with its call.
        if (event.type === 'call.ended') covered(event.call, `session:${event.target}`)
      }
    },
  }
}

const listOpenKeys = ({ call, target }: Parameters<Tx['open']>[0], facts: OpenFacts): Key[] => [
  `session:${facts.caller.turn.session}`,
  `flow:${facts.caller.turn.flow}`,
  `call:${call}`,
  ...(target === null ? [] : [`session:${target}` as const]),
  ...(facts.target?.waitPath ?? []).map((hop): Key => `session:${hop.session}`),
]
