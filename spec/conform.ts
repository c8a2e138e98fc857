/**
 * The model folds events as the store does: along random walks every event of the model is appended to the
 * real SQLite store, and its tables and facts are compared with the model's.
 * This ties the abstract rows to `src/store/apply.ts` and `src/store/facts.ts`.
 */
import type { Event } from '../src/model/event.ts'
import { sqliteStore, type SqliteStore } from '../src/store/sqlite.ts'
import { belowTurn, nowMs, sessionId, turnId, waitPath } from './checker/facts.ts'
import {
  findRoot,
  listTurns,
  makeNames,
  getRow,
  getSession,
  type Options,
  type State,
} from './checker/state.ts'
import { callModel } from './checker/steps.ts'
import { lockstepOptions, createRandom, stepsPerWalk } from './lockstep.ts'

export type Conformance = { states: number; difference: string | null }

export async function conform(
  seed: number,
  statesWanted: number,
  options: Options = lockstepOptions,
): Promise<Conformance> {
  const random = createRandom(seed)
  const model = callModel(options)
  let states = 0
  while (states < statesWanted) {
    const store = sqliteStore({ directory: ':memory:', now: () => nowMs })
    try {
      await append(
        store,
        makeNames('a', options.agents).map((agent): Event => ({
          type: 'session.created',
          session: sessionId(agent),
          turn: null,
          agent,
          kind: 'persistent',
          parent: null,
          cwd: '/',
          title: agent,
          model: null,
          flow: null,
        })),
      )
      let state = model.init
      const actions: string[] = []
      for (let step = 0; step < stepsPerWalk && states < statesWanted; step += 1) {
        // A wait that fades does so by the clock, which stands still here.
        const steps = model.steps(state).filter(({ action }) => !action.startsWith('Fade'))
        const chosen = steps[random(steps.length)]
        if (chosen === undefined) break
        actions.push(chosen.action)
        await append(store, chosen.events)
        state = chosen.next
        states += 1
        const difference = await findDifference(store, options, state)
        if (difference !== null) return { states, difference: `after ${actions.join(' ')}: ${difference}` }
      }
    } finally {
      await store.close()
    }
  }
  return { states, difference: null }
}

async function append(store: SqliteStore, events: readonly Event[]): Promise<void> {
  if (events.length === 0) return
  const keys = [...new Set(events.map(({ session }) => `session:${session}` as const))]
  await store.transact(keys, async (tx) => tx.append(...events))
}

async function findDifference(store: SqliteStore, options: Options, state: State): Promise<string | null> {
  const mine = JSON.stringify(listTurns(state).map((id) => modelRow(options, state, id)))
  const theirs = JSON.stringify(
    await Promise.all(listTurns(state).map((id) => storeRow(store, options, state, id))),
  )
  if (mine !== theirs) return `the model has ${mine}, the store ${theirs}`
  const waits = (
    store.db.prepare('select target from waits order by target').all() as { target: string }[]
  ).map(({ target }) => target)
  const kept = state.waits.map((id) => sessionId(`e${id}`))
  return JSON.stringify(waits) === JSON.stringify(kept)
    ? null
    : `the model keeps the waits ${kept.join(' ')}, the store ${waits.join(' ')}`
}

/** The rows, what is pending below, and whom its session would close a ring with. */
function modelRow(options: Options, state: State, id: number) {
  const row = getRow(state, id)
  return {
    st: row.st,
    call: row.call,
    stop: row.stop,
    node: row.node,
    epoch: row.epoch,
    below: options.budget === 0 ? 0 : row.below,
    used: row.st === 'ended' && row.epoch > 0 ? row.used : 0,
    under: belowTurn(state, id).map(turnId),
    rings: makeNames('a', options.agents).filter(
      (agent) => waitPath(state, agent, getSession(state, id)) !== null,
    ),
  }
}

function storeRow(
  store: SqliteStore,
  options: Options,
  state: State,
  id: number,
): Promise<ReturnType<typeof modelRow>> {
  const sessions = [
    ...new Set([
      ...listTurns(state).map((turn) => getSession(state, turn)),
      ...makeNames('a', options.agents),
    ]),
  ]
  return store.transact(
    [
      ...sessions.map((session) => `session:${sessionId(session)}` as const),
      `flow:flow_${findRoot(state, id)}`,
      'call:call_x',
    ],
    async (tx) => {
      const facts = await tx.turn(turnId(id))
      if (facts === null) throw new Error(`${id} is not in the store`)
      const { turn } = facts
      const rings: string[] = []
      for (const agent of makeNames('a', options.agents)) {
        const open = await tx.open({ call: 'call_x', callerTurn: turn.id, target: sessionId(agent) })
        if (open?.target?.waitPath != null) rings.push(agent)
      }
      return {
        st: turn.state,
        call: turn.call === null ? 'none' : turn.call.pending ? 'pending' : (turn.call.outcome ?? 'none'),
        stop: turn.stopping ?? 'no',
        node: turn.node?.slice(5) ?? null,
        epoch: turn.epoch,
        below: options.budget === 0 ? 0 : turn.tokensBelow,
        used: turn.tokensUsed,
        under: (await tx.below(turn.id)).map(({ turn: { id: below } }) => below).sort(),
        rings,
      }
    },
  )
}
