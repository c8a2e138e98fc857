/** The page, the terminal, the flow's record and the numbers of the day say the same about tokens. */
import { expect, test } from 'vitest'
import { buildTree } from '../../src/cli/show/flow-tree.ts'
import { emptyTree, foldEvent, listRoots, sumTokens } from '../../src/cli/show/tree.ts'
import { readAll } from '../../src/runtime/kernel/scope.ts'
import { totalsView } from '../../src/views/totals.ts'
import { foldFlow } from '../../web/src/flow/fold-flow.ts'
import { world } from '../kits/world.ts'

test('what a cancelled request had used is counted, and the same everywhere', async () => {
  const usage = { input: 600, output: 99, estimated: true }
  const w = await world({
    agents: {
      planner: {
        allowSubAgentCalls: true,
        driver: {
          async run(_turn, steps) {
            const step = { value: 'plan', usage: { input: 40, output: 2, estimated: false } }
            await steps.step('model', 'm', 'plan', async () => step)
            await steps.tool('sub_agent', { agent_name: 'coder', task: 'Write it' })
            return { outcome: 'completed', output: 'done', error: null, iterations: 1 }
          },
        },
      },
      coder: {
        driver: {
          async run(_turn, steps) {
            return steps.step('model', 'm', 'write', async (signal) => {
              steps.asking?.(() => usage)
              await w.clock.sleep(60_000, signal)
              return { value: 'never', usage: null }
            }) as never
          },
        },
      },
    },
  })
  const run = w.ask('planner', 'Renew it')
  await w.pass(1000)
  const { log, sessions } = w.desks.as({})
  const [session] = (await w.events('turn.started')).map(({ event }) => event.session)
  await sessions.cancel(session ?? 'ses_', {})
  expect((await w.until(run)).outcome).toBe('cancelled')
  const stored = await readAll(w.store, 0, {})
  const flow = await log.flow((await w.events('message.sent'))[0]?.event.flow ?? '')
  const streamed = stored.map(({ seq, at, event }) => ({
    seq: String(seq),
    at,
    sessionId: event.session,
    event,
  }))
  const recorded = flow === null ? emptyTree : buildTree([flow], flow.flow)
  const live = stored.reduce(foldEvent, emptyTree)
  const total = 42 + 699
  const sum = (tree: typeof live): number =>
    listRoots(tree).reduce((all, root) => all + sumTokens(tree, root), 0)
  expect(flow?.tokensUsed).toBe(total)
  expect(foldFlow(streamed).tokens).toBe(total)
  expect(sum(recorded)).toBe(total)
  expect(sum(live)).toBe(total)
  const numbers = totalsView({ clock: w.clock, store: w.store, log, report: () => undefined })
  await w.until(numbers.begun())
  const { tokens } = numbers.read(null)
  await numbers.close()
  expect(tokens).toMatchObject({ input: 40 + 699, output: 2, estimated: true })
})
