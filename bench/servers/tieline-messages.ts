/** `serve()` with many sessions of an agent whose turns end at once. */
import { openServer } from '../../src/open-server.ts'
import type { SessionId } from '../../src/model/id.ts'
import type { BenchServer } from '../server-process.ts'
import { createScratch } from '../work.ts'
import { instantAnswer } from '../message-work.ts'
import { measureLog, noLimits } from './tieline-log.ts'

const sessionsPerBatch = 256

/** Enough that no queue fills and no conversation gets long. */
const count = Number(process.env['BENCH_SESSIONS'] ?? 8192)

export async function start(): Promise<BenchServer> {
  const { workspace, data, remove } = createScratch()
  const served = await openServer({
    dataDir: data,
    cwd: workspace,
    port: 0,
    host: '127.0.0.1',
    limitsOfHttp: noLimits,
    agents: { instant: { script: () => instantAnswer } },
  })
  const { desks, store } = served.line
  const made: SessionId[] = []
  const open = async (): Promise<SessionId> => {
    const answer = await desks.as({}).sessions.create({ cwd: workspace, agent: 'instant' })
    if ('code' in answer) throw new Error(answer.code)
    return answer.sessionId
  }
  while (made.length < count)
    made.push(
      ...(await Promise.all(Array.from({ length: Math.min(sessionsPerBatch, count - made.length) }, open))),
    )
  return {
    url: served.url,
    facts: { sessions: made },
    commits: () => store.commits(),
    log: () => measureLog(store),
    async seqs(session, after) {
      const seqs: number[] = []
      for (let from = after; ;) {
        const page = await store.read(from, { sessions: [session as SessionId] }, 10_000)
        if (page.events.length === 0) return seqs
        seqs.push(...page.events.map(({ seq }) => seq))
        from = page.next
      }
    },
    async close() {
      await served.close()
      remove()
    },
  }
}
