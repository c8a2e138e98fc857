/** The store alone: the events and transactions of a real message, without rules, turns or HTTP. */
import type { EventOf } from '../../src/model/event.ts'
import type { FlowId, SessionId, TurnId } from '../../src/model/id.ts'
import { sqliteStore } from '../../src/store/sqlite.ts'
import { openLine } from '../../src/open-line.ts'
import { instantAnswer, nextMessage } from '../message-work.ts'
import type { BenchServer } from '../server-process.ts'
import { createScratch } from '../work.ts'

const sessions = 8192

type Recorded = {
  created: EventOf<'session.created'>
  sent: EventOf<'message.sent'>
  started: EventOf<'turn.started'>
  ended: EventOf<'turn.ended'>
}

/** The events that one message leaves in the log. Throws if there are others, which the bench would miss. */
async function recordMessage(): Promise<Recorded> {
  await using line = await openLine({ agents: { instant: { script: () => instantAnswer } } })
  await line.run('instant', nextMessage())
  const { events } = await line.store.read(0, {}, 100)
  const [created, sent, started, ended, more] = events.map(({ event }) => event)
  if (
    created?.type !== 'session.created' ||
    sent?.type !== 'message.sent' ||
    started?.type !== 'turn.started' ||
    ended?.type !== 'turn.ended' ||
    more !== undefined
  )
    throw new Error(`a message left ${events.map(({ event }) => event.type).join(', ')}`)
  return { created, sent, started, ended }
}

export async function start(): Promise<BenchServer> {
  const { data, remove } = createScratch()
  const store = sqliteStore({ directory: data, now: () => Date.now() })
  const { created, sent, started, ended } = await recordMessage()
  const names = Array.from({ length: sessions }, (_, n): SessionId => `ses_1763000000-${n}`)
  await Promise.all(
    names.map((session) =>
      store.transact([`session:${session}`], async (tx) => tx.append({ ...created, session })),
    ),
  )
  let count = 0
  return {
    url: '',
    commits: () => store.commits(),
    async one() {
      const n = (count += 1)
      const session = names[n % sessions] ?? 'ses_none'
      const [turn, flow]: [TurnId, FlowId] = [`turn_1763000000-${n}`, `flow_1763000000-${n}`]
      const text = nextMessage()
      await store.transact([`session:${session}`, `flow:${flow}`], async (tx) =>
        tx.append(
          {
            ...sent,
            session,
            turn,
            flow,
            message: `msg_1763000000-${n}`,
            text,
            grant: { ...sent.grant, path: [{ session, agent: 'instant' }] },
          },
          { ...started, session, turn },
        ),
      )
      const entry =
        ended.entry === null ? null : { ...ended.entry, n: Math.floor(n / sessions) * 2 + 1, asked: text }
      await store.transact([`session:${session}`, `flow:${flow}`], async (tx) =>
        tx.append({ ...ended, session, turn, entry }),
      )
    },
    async close() {
      await store.close()
      remove()
    },
  }
}
