/**
 * The demo: three agents that need no model, of which the planner needs the other two. They go when it has
 * ended; what they did stays in the log.
 */
import type { Live } from '../live/live.ts'
import { after } from '../browser-clock.ts'

const cast = [
  {
    name: 'Planner',
    description: 'asks the others, in the demo of the page',
    system: 'You plan and delegate.',
  },
  { name: 'Coder', description: 'writes code, in the demo of the page', system: 'You write code.' },
  {
    name: 'Reviewer',
    description: 'checks the work of others, in the demo of the page',
    system: 'You review.',
  },
] as const

const request =
  'Build a function that turns titles into slugs. Ask Coder to write it with tests, and Reviewer to check the result.'
const patienceMs = 10_000
/** The built-in demo at a pace that a person can follow. */
const pacedModel = 'demo/paced'

/** A demo before this one that is still putting its agents away. */
let leaving: Promise<unknown> = Promise.resolve()

/** Returns the flow that it started. */
export async function runDemo(live: Live, isPaced: boolean): Promise<string> {
  await leaving
  const there = await live.client.agents()
  const ids: string[] = []
  for (const { name, description, system } of cast) {
    const known = there.find(
      (agent) => agent.origin === 'api' && agent.name === name && (agent.model === pacedModel) === isPaced,
    )
    ids.push(
      known?.id ??
        (
          await live.client.v1.createAgent({
            name,
            description,
            system,
            ...(isPaced ? { model: pacedModel } : {}),
          })
        ).id,
    )
  }
  const planner = (await live.client.agents()).find(({ id }) => id === ids[0])
  if (planner?.session == null) throw new Error('the demo agents could not be made')
  const sent = await live.client.sessions.send(planner.session, { message: request })
  if (sent.flow === null) throw new Error('the demo agents do not answer')
  await waitForFlow(live, sent.flow)
  leaveAfter(live, sent.flow, ids)
  return sent.flow
}

/** A page that is closed before leaves them; the next demo takes them again, and puts them away. */
function leaveAfter(live: Live, flow: string, agents: readonly string[]): void {
  const root = `turn_${flow.slice(5)}`
  const look = (): void => {
    if (live.ledger.turns.get(root)?.endedAt == null) return
    unsubscribe()
    leaving = Promise.allSettled(agents.map((id) => live.client.v1.deleteAgent(id)))
  }
  const unsubscribe = live.onEvent(look)
  look()
}

/** The page knows the flow when its first event has arrived. */
function waitForFlow(live: Live, flow: string): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      if (!live.ledger.flows.has(flow)) return
      end()
    }
    const unsubscribe = live.onEvent(done)
    const late = after(patienceMs, () => end())
    const end = (): void => {
      unsubscribe()
      late()
      resolve()
    }
    done()
  })
}
