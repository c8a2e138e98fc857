/** Waiting for sessions and calls: edges of the wait-for graph, as long as somebody waits. */
import { expect, test } from 'vitest'
import { world, type World } from '../../../test/kits/world.ts'
import type { SessionId } from '../../model/id.ts'
import { isRefusal } from '../../model/refusal.ts'

const place = { cwd: '/tmp', model: null, title: '', parent: null, id: null, trace: null }

async function session(w: World, agent: string, initialMessage: string | null = null): Promise<SessionId> {
  const made = await w.exchange.createSession({ kind: 'user' }, { ...place, agent, initialMessage })
  return isRefusal(made) ? 'ses_none' : made.sessionId
}

const resting = (w: World, id: SessionId) =>
  w.until(w.exchange.waitForSession({ kind: 'user' }, id, 600_000, new AbortController().signal))

test('R5: an agent that waits for a session that waits for it comes back at once with the present state', async () => {
  const states: unknown[] = []
  const w = await world({
    agents: {
      planner: {
        script: async (turn) => {
          states.push((await turn.tool('wait_for_session', { sessionId: child })).value)
          return 'ok'
        },
      },
      coder: {
        script: async (turn) => {
          await w.clock.sleep(100, turn.signal)
          states.push((await turn.tool('wait_for_session', { sessionId: parent })).value)
          return 'done'
        },
      },
    },
  })
  const child: SessionId = await session(w, 'coder', 'go')
  const parent: SessionId = await session(w, 'planner', 'go')
  await resting(w, parent)
  expect(states[0]).toMatchObject({
    sessionId: parent,
    status: 'streaming',
    next: expect.stringContaining('Do not wait again') as string,
  })
  expect(states[1]).toMatchObject({ sessionId: child, status: 'idle', next: null })
  expect(w.clock.now() - 1_800_000_000_000).toBeLessThan(5000)
})

test('R5: of two waits for one session the edge stays until the last is over', async () => {
  const edges: number[] = []
  const count = (): number =>
    edges.push(
      (w.store.db.prepare('select count(*) as n from waits where waiter = ?').get(boss) as { n: number }).n,
    )
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          const [one, two] = await Promise.all(
            ['short', 'long'].map(async (task) => (await turn.tool('call_later', { task })).value as string),
          )
          const waits = [one, two].map((call) =>
            turn.tool('wait_for_call', { call_id: call ?? '', timeout_seconds: 50 }),
          )
          await waits[0]
          count()
          await Promise.all(waits)
          count()
          return 'ok'
        },
      },
      coder: {
        script: async (turn) => {
          await w.clock.sleep(turn.task === 'short' ? 1000 : 5000, turn.signal)
          return 'done'
        },
      },
    },
    // No tool of ours calls a session in the background; the graph must hold for whoever does.
    tools: [
      {
        name: 'call_later',
        effect: 'call',
        calling: true,
        describe: () => ({ name: 'call_later', description: '', input: {} }),
        run: async (input, { acts, stepKey }) => {
          const { task } = input as { task: string }
          const { call } = await acts.call(
            {
              tool: 'call_agent',
              target: { session: coder },
              task,
              input: undefined,
              context: null,
              attachment: null,
              maxContextTokens: undefined,
              allowedTools: null,
              nested: true,
              timeoutMs: 60_000,
              maxIterations: undefined,
              maxTokens: undefined,
              outputSchema: undefined,
              background: true,
            },
            stepKey,
          )
          return { ok: true, value: call }
        },
      },
    ],
  })
  const coder: SessionId = await session(w, 'coder')
  const boss: SessionId = await session(w, 'boss', 'go')
  await resting(w, boss)
  expect(edges).toEqual([1, 0])
})

test('R5: a call closed a ring when the clock had been put right during a wait', async () => {
  let [answer, waits]: unknown[] = []
  const w = await world({
    agents: {
      planner: {
        script: async (turn) => {
          await turn.tool('wait_for_session', { sessionId: child, timeout_seconds: 5 })
          return 'ok'
        },
      },
      coder: {
        script: async (turn) => {
          await w.clock.sleep(100, turn.signal)
          w.clock.jump(12_000)
          waits = await w.desks.as({}).log.waits()
          answer = (await turn.tool('call_agent', { agent_id: parent, message: 'Are you there?' })).value
          return 'done'
        },
      },
    },
  })
  const child: SessionId = await session(w, 'coder', 'go')
  w.clock.jump(-12_000)
  const parent: SessionId = await session(w, 'planner', 'go')
  await resting(w, parent)
  expect(answer).toMatchObject({ error: expect.stringContaining('wait in a ring') as string })
  expect(waits).toMatchObject({ waits: [{ waiter: parent, target: child, kind: 'wait' }] })
})

/** Somebody waits for a session, its node is killed, and another goes on with it. */
async function takeOver(waitAgain: boolean): Promise<{ w: World; answer: unknown; runs: number }> {
  let [runs, answer]: [number, unknown] = [0, null]
  const w = await world({
    agents: {
      planner: {
        script: async (turn) => {
          runs += 1
          const wait = { sessionId: child, timeout_seconds: 50 }
          if (runs === 1 || waitAgain) await turn.tool('wait_for_session', wait)
          await w.clock.sleep(60_000, turn.signal)
          return 'ok'
        },
      },
      coder: {
        script: async (turn) => {
          await w.clock.sleep(20_000, turn.signal)
          const call = { agent_id: parent, message: 'Are you there?', timeout_ms: 1000 }
          answer = (await turn.tool('call_agent', call)).value
          return 'done'
        },
      },
    },
  })
  const second = await w.addNode()
  const sent = (agent: string, id: SessionId, node: World['node']) =>
    void w.ask(agent, 'go', { session: id }, node)
  const child = await session(w, 'coder')
  const parent = await session(w, 'planner')
  sent('coder', child, second)
  await w.rest()
  sent('planner', parent, w.node)
  await w.rest()
  const { runtime } = w.node
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  for (const running of runtime.running.values()) running.abort.abort(new Error('killed'))
  runtime.running.clear()
  await w.pass(25_000)
  return { w, answer, runs }
}

test('R5: what a dead node waited for was waited for as long as its turn ran elsewhere', async () => {
  const { w, answer, runs } = await takeOver(false)
  expect(runs).toBe(2)
  expect(answer).toMatchObject({ outcome: 'timed_out' })
  expect((await w.events('wait.ended')).map(({ event }) => event.reason)).toEqual(['its node is gone'])
})

test('R5: a wait that goes on elsewhere is an edge again', async () => {
  const { w, answer, runs } = await takeOver(true)
  expect(runs).toBe(2)
  expect(answer).toMatchObject({ error: expect.stringContaining('wait in a ring') as string })
  expect((await w.events('wait.started')).length).toBe(2)
})

test('a wait of 55 seconds at most returns with how to go on', async () => {
  let state: unknown
  const w = await world({
    agents: {
      planner: {
        script: async (turn) => {
          state = (await turn.tool('wait_for_session', { sessionId: child, timeout_seconds: 500 })).value
          return 'ok'
        },
      },
      coder: {
        script: async (turn) => {
          await w.clock.sleep(200_000, turn.signal)
          return 'done'
        },
      },
    },
  })
  const child: SessionId = await session(w, 'coder', 'go')
  await resting(w, await session(w, 'planner', 'go'))
  expect(state).toMatchObject({ isActive: true, next: expect.stringContaining(child) as string })
  expect((await w.events('wait.ended'))[0]?.at).toBe(1_800_000_000_000 + 55_000)
})
