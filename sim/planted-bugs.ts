/**
 * Removes each guard of the core, one at a time, without touching the core: by false facts, changed events and
 * blind ports.
 */
import type { Event, EventOf } from '../src/model/event.ts'
import { fullAuthority } from '../src/model/authority.ts'
import type { Activation, MessageFacts, OpenFacts, TurnRow } from '../src/model/facts.ts'
import type { NodeId, TurnId } from '../src/model/id.ts'
import type { Bug } from './bug.ts'
import { keyBugs } from './planted-key-bugs.ts'
import { queueBugs } from './planted-queue-bugs.ts'
import { storeBugs } from './planted-store-bugs.ts'
import { versionBugs } from './planted-version-bugs.ts'

type Target = NonNullable<OpenFacts['target']>

const withTurn = (facts: OpenFacts, more: Partial<TurnRow>): OpenFacts => ({
  ...facts,
  caller: { ...facts.caller, turn: { ...facts.caller.turn, ...more } },
})
const withTarget = (facts: OpenFacts, more: Partial<Target>): OpenFacts =>
  facts.target === null ? facts : { ...facts, target: { ...facts.target, ...more } }

/** Changes the grant of a call as it opens; the callee gets the changed one too. */
const changeOpened =
  (change: (event: EventOf<'call.opened'>) => void) =>
  (events: readonly Event[]): Event[] => {
    for (const event of events) if (event.type === 'call.opened') change(event)
    return [...events]
  }

/** The epoch under which each node last had a turn: what a stale owner believes. */
function keepOldEpochs(): Pick<Bug, 'activation' | 'open' | 'append'> {
  const epochs = new Map<string, number>()
  const believed = <T extends Pick<Activation, 'state' | 'node' | 'epoch'>>(
    facts: T,
    turn: TurnId,
    node: NodeId,
  ): T => {
    const epoch = epochs.get(`${node} ${turn}`)
    return epoch === undefined || facts.state !== 'running' ? facts : { ...facts, node, epoch }
  }
  return {
    activation: believed,
    open: (facts, node) => withTurn(facts, believed(facts.caller.turn, facts.caller.turn.id, node)),
    append(events, node) {
      for (const event of events)
        if (event.type === 'turn.started' || event.type === 'session.claimed')
          epochs.set(`${node} ${event.turn ?? ''}`, event.epoch)
      return [...events]
    },
  }
}

const pretendRead = (facts: MessageFacts | null): MessageFacts | null =>
  facts === null || facts.status !== 'buffered' ? facts : { ...facts, status: 'delivered' }

export const plantedBugs: readonly (() => Bug)[] = [
  () => ({
    name: 'unkeyed-facts',
    law: 'R1',
    says: 'what is below a turn is read without the keys of its sessions',
    tx: (tx, store) => ({
      ...tx,
      turn: async (id) => {
        const turn = await store.turn(id)
        const session = turn === null ? null : await store.session(turn.session)
        return turn === null || session === null ? null : { turn, session }
      },
      below: async (turn) =>
        (await store.turns({ callerTurn: turn }, 100)).map((row) => ({
          turn: row,
          sessionKind: 'ephemeral' as const,
        })),
    }),
  }),
  () => ({
    name: 'early-yes',
    law: 'R2',
    says: 'a commit is acknowledged before it is made',
    acknowledge: 'early',
  }),
  () => ({
    name: 'late-answer-wins',
    law: 'R3',
    says: 'a call that has ended can end again',
    activation: (facts) => ({ ...facts, pending: true }),
    turn: (facts) =>
      facts.turn.call === null
        ? facts
        : { ...facts, turn: { ...facts.turn, call: { ...facts.turn.call, pending: true } } },
  }),
  () => ({
    name: 'nothing-below',
    law: 'R3',
    says: 'what is pending below does not end with its call',
    below: () => [],
  }),
  () => ({
    name: 'no-deadline',
    law: 'R4',
    says: 'no call ends by its deadline',
    turn: (facts) =>
      facts.turn.call === null
        ? facts
        : { ...facts, turn: { ...facts.turn, call: { ...facts.turn.call, deadline: Infinity } } },
  }),
  () => ({
    name: 'no-wait-path',
    law: 'R5',
    says: 'the wait-for graph is not looked at',
    open: (facts) => withTarget(facts, { waitPath: null }),
  }),
  () => ({
    name: 'short-path',
    law: 'R5',
    says: 'the call path is forgotten',
    append: changeOpened((event) => void event.grant.path.splice(0, event.grant.path.length - 1)),
  }),
  () => ({ name: 'no-fence', law: 'R6', says: 'a stale owner is not refused', ...keepOldEpochs() }),
  () => ({
    name: 'no-lease',
    law: 'R6',
    says: 'a running turn is taken from a living node',
    session: (facts) => ({ ...facts, runnerAlive: false }),
  }),
  () => ({
    name: 'two-turns',
    law: 'R6',
    says: 'a busy session starts its next turn',
    session: (facts) => ({ ...facts, running: null }),
  }),
  () => ({
    name: 'calls-on',
    law: 'R6',
    says: 'a turn calls out when nobody waits for it any more',
    open: (facts) =>
      withTurn(facts, {
        stopping: null,
        call: facts.caller.turn.call === null ? null : { ...facts.caller.turn.call, pending: true },
      }),
  }),
  () => ({
    name: 'no-depth',
    law: 'R7',
    says: 'hops are not counted',
    append: changeOpened((event) => void (event.grant.depth = 1)),
  }),
  () => ({
    name: 'long-deadline',
    law: 'R7',
    says: 'a callee may run longer than its caller',
    append: changeOpened((event) => void (event.deadline += 60_000)),
  }),
  () => ({
    name: 'no-hold',
    law: 'R7',
    says: 'what calls below hold and used is not counted',
    open: (facts) => withTurn(facts, { tokensBelow: 0 }),
  }),
  () => ({
    name: 'no-money-hold',
    law: 'R7',
    says: 'money that calls below hold and spent is not counted',
    open: (facts) => withTurn(facts, { nanoUsdBelow: 0 }),
  }),
  () => ({
    name: 'refund-on-timeout',
    law: 'R7',
    says: 'a call that timed out gives its tokens back before its callee has stopped',
    tx: (tx, store) => ({
      ...tx,
      open: async (query) => {
        const facts = await tx.open(query)
        const given = store.db
          .prepare(
            `select coalesce(sum(held), 0) as held from turns
             where caller_turn = ? and pending = 0 and state = 'running'`,
          )
          .get(query.callerTurn) as { held: number }
        return facts === null
          ? null
          : withTurn(facts, { tokensBelow: facts.caller.turn.tokensBelow - given.held })
      },
    }),
  }),
  () => ({
    name: 'wide-tools',
    law: 'R7',
    says: 'the ceiling of tools is not handed down',
    append: changeOpened((event) => void (event.grant.authority = fullAuthority)),
  }),
  () => ({
    name: 'no-permission',
    law: 'R7',
    says: 'everybody may call everybody',
    ports: (ports) => ({
      ...ports,
      agents: {
        ...ports.agents,
        get: (name) => {
          const agent = ports.agents.get(name)
          return agent === undefined ? undefined : { ...agent, allowSubAgentCalls: true, mayCall: undefined }
        },
      },
    }),
  }),
  () => ({
    name: 'blind-count',
    law: 'R8',
    says: 'what a child is given is not counted',
    ports: (ports) => ({ ...ports, count: () => 1 }),
  }),
  () => ({
    name: 'free-history',
    law: 'R8',
    says: 'history that is passed is not counted',
    entries: (page) => ({ ...page, entries: page.entries.map((entry) => ({ ...entry, tokens: 0 })) }),
  }),
  () => ({
    name: 'forgets-calls',
    law: 'R10',
    says: 'a turn that is run again does not know its calls',
    read: (stored) => stored.event.type !== 'call.opened',
  }),
  () => ({
    name: 'always-waiting',
    law: 'M2',
    says: 'a message that was accepted still seems to wait',
    tx: (tx) => ({
      ...tx,
      message: async (id) => {
        const facts = await tx.message(id)
        return facts?.sent == null || facts.sent.turn !== null ? facts : { ...facts, status: 'buffered' }
      },
    }),
  }),
  () => ({
    name: 'forgets-acts',
    law: 'M2',
    says: 'what an act has accepted is not looked up when it is tried again',
    tx: (tx) => ({ ...tx, accepted: async () => null }),
  }),
  () => ({
    name: 'not-handed-over',
    law: 'M1',
    says: 'an accepted message is not delivered',
    append: (events) => events.filter((event) => event.type !== 'message.delivered' || event.opens),
  }),
  () => ({
    name: 'any-reply',
    law: 'M4',
    says: 'a waiting message counts as read when it is answered',
    ports: (ports) => ({
      ...ports,
      lists: {
        ...ports.lists,
        mail: { ...ports.lists.mail, message: async (id) => pretendRead(await ports.lists.mail.message(id)) },
      },
    }),
    tx: (tx) => ({ ...tx, message: async (id) => pretendRead(await tx.message(id)) }),
  }),
  () => ({
    name: 'no-open-limit',
    law: 'R11',
    says: 'open calls are not counted',
    open: (facts) => ({ ...facts, openCalls: 0 }),
  }),
  () => ({
    name: 'no-queue-limit',
    law: 'R11',
    says: 'waiting inputs are not counted',
    open: (facts) => withTarget(facts, { queued: 0 }),
    session: (facts) => ({ ...facts, queued: 0 }),
  }),
  () => ({
    name: 'no-rate-limit',
    law: 'R11',
    says: 'calls a minute are not counted',
    open: (facts) => ({ ...facts, callsLastMinute: 0 }),
  }),
  () => ({
    name: 'no-descendant-limit',
    law: 'R11',
    says: 'sessions of a flow are not counted',
    open: (facts) => ({ ...facts, descendants: 0 }),
  }),
  ...keyBugs,
  ...queueBugs,
  ...storeBugs,
  ...versionBugs,
]
