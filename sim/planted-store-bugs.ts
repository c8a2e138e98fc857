/** Planted bugs of what lies below the rules: views that are not the log, limits by the wrong clock. */
import { prepareFacts } from '../src/store/fact-statements.ts'
import { sessionFacts } from '../src/store/facts.ts'
import type { Bug } from './bug.ts'

/** The views as they are at this moment, whether or not they have what was decided. */
function lagging(): Pick<Bug, 'opened' | 'tx'> {
  let sql: ReturnType<typeof prepareFacts> | null = null
  return {
    opened: (store) => void (sql = prepareFacts(store.db)),
    tx: (tx) => ({
      ...tx,
      session: async (id) =>
        sql === null ? tx.session(id) : sessionFacts({ sql, now: tx.now, held: null }, id),
    }),
  }
}

export const storeBugs: readonly (() => Bug)[] = [
  () => ({
    name: 'lagging-view',
    law: 'R6',
    // A machine that dies takes its connection along.
    shows: ({ faults }) => !faults.some(({ kind }) => kind === 'disk'),
    says: 'what a session runs is read from a view that does not have everything yet',
    ...lagging(),
  }),
  () => ({
    name: 'unwritten-answers',
    law: 'O3',
    says: 'an answer is kept in memory until something else of its turn is recorded',
    append: (events) => (events.every(({ type }) => type === 'step.ended') ? [] : [...events]),
  }),
  () => ({
    name: 'view-only',
    law: 'R10',
    says: 'a view is changed without an event',
    committed: (store) =>
      store.db.exec(
        'update turns set tokens_used = tokens_used + 1 where id = (select id from turns where live = 0 limit 1)',
      ),
  }),
  () => ({
    name: 'skips-column',
    law: 'R10',
    says: 'the fold of mail does not write down which event accepted a message',
    opened: (store) =>
      store.db.exec(`create temp trigger skips after update of accepted_seq on messages
        begin update messages set accepted_seq = null where id = new.id; end`),
  }),
  () => ({
    name: 'wall-limits',
    law: 'R4',
    says: 'limits are kept by the clock on the wall',
    // A limit that another process goes on with is kept by that clock in any case.
    shows: ({ nodes, faults }) => nodes === 1 && faults.some(({ kind }) => kind === 'clock'),
    ports: (ports) => ({ ...ports, clock: { ...ports.clock, elapsed: () => ports.clock.now() } }),
  }),
]
