/**
 * Makes a plan from a seed. Each kind of plan stresses another part, and each run leaves out some kinds of
 * fault.
 */
import { agentCount } from './agents.ts'
import { addChain, addCrossing } from './make-crossing.ts'
import { makeDesk } from './make-desk.ts'
import { makeFaults, makeUpgrade } from './make-faults.ts'
import type { Act, CallAct, Ending, MailAct, Plan, Root, Script } from './plan.ts'
import { mix, Random } from './random.ts'

export const planKinds = ['mixed', 'ring', 'race', 'budget', 'queue', 'wait', 'mail', 'desk'] as const
type Kind = (typeof planKinds)[number]

/** Within this time everything is asked. */
const horizonMs = 5000

export function makePlan(seed: number): Plan {
  const random = new Random(seed, 'plan')
  const kind = planKinds[seed % planKinds.length] as Kind
  const scripts = makeScripts(random, kind)
  const roots = makeRoots(random, kind, scripts.length)
  if (kind === 'ring') addCrossing(random, roots, scripts)
  if (kind === 'mixed') addChain(random, roots, scripts)
  const faults = makeFaults(random, horizonMs)
  const nodes = 1 + random.below(4)
  faults.push(...makeUpgrade(seed, nodes, faults))
  return {
    seed,
    kind,
    nodes,
    ownClocks: nodes > 1 && mix(seed, 'own clocks', 0) % 4 === 0,
    // A disk and a clock belong to one process, whose works do not overlap.
    overlap:
      mix(seed, 'overlap', 0) % 3 === 0 && !faults.some(({ kind }) => kind === 'disk' || kind === 'clock'),
    latencyMs: random.pick([0, 1, 3, 3, 8]),
    limits: makeLimits(random, kind),
    roots,
    scripts,
    faults,
    mail: kind === 'mail' || kind === 'desk' ? makeMail(random) : [],
    desk: kind === 'desk' ? makeDesk(random, horizonMs, 24 + random.below(16)) : [],
  }
}

function makeLimits(random: Random, kind: Kind): Record<string, number> {
  return {
    ...(random.chance(20) && { callsPerMinute: 6 }),
    ...(random.chance(20) && { descendantsPerFlowMax: 4 }),
    ...(random.chance(30) && { callsPerCallerMax: 2 }),
    ...(kind === 'queue' && { queuedPerSessionMax: 1 + random.below(2) }),
    ...(kind === 'mixed' && { depthMax: 5 }),
    ...(kind === 'mail' && random.chance(70) && { messageAgeSeconds: 1 }),
    ...(kind === 'desk' && { agentsMadeMax: 2 }),
    ...(kind === 'budget' && makeBudget(100 + random.below(300))),
  }
}

/** In some plans money is used up before tokens are: a token of a thought costs a tenth of a cent. */
const makeBudget = (flowTokensMax: number): Record<string, number> => ({
  flowTokensMax,
  ...(flowTokensMax % 3 === 0 && { flowUsdMax: (flowTokensMax * 8) / 10_000 }),
})

const scriptCount = 10

/**
 * Earlier scripts call later ones, so that a tree of calls is finite; a few call themselves and end at the
 * depth limit.
 */
function makeScripts(random: Random, kind: Kind): Script[] {
  return Array.from({ length: scriptCount }, (_, index) => {
    const acts: Act[] = []
    // The last ones only think.
    if (index >= scriptCount - 2) acts.push(makeThought(random))
    else if (kind === 'race') addRace(random, acts, index)
    else for (let left = 2 + random.below(3); left > 0; left -= 1) acts.push(...makeActs(random, kind, index))
    return { acts, end: makeEnding(random, kind), lateMs: 1 + random.below(6000) }
  })
}

function makeEnding(random: Random, kind: Kind): Ending {
  if (random.chance(kind === 'race' ? 85 : 72)) return 'answer'
  return random.pick(['fail', 'empty', 'hang', 'deaf', 'late', 'late', 'twice', 'twice'] as const)
}

function makeActs(random: Random, kind: Kind, index: number): Act[] {
  const roll = random.below(10)
  if (roll < 3) return [makeThought(random)]
  if (roll === 3) return [{ do: 'note' }]
  if ((kind === 'mail' || (kind === 'desk' && roll > 5)) && roll < 8)
    return [
      {
        do: 'mail',
        what: random.pick(['send', 'take', 'take', 'reply'] as const),
        to: random.below(4),
        script: Math.min(scriptCount - 1, index + 1 + random.below(3)),
      },
    ]
  if (roll === 4 || (kind === 'wait' && roll < 8)) return makeBackground(random, kind, index)
  const calls = Array.from({ length: random.chance(35) ? 2 + random.below(3) : 1 }, () =>
    makeCall(random, kind, index),
  )
  return [{ do: 'call', calls }, ...(random.chance(50) ? [makeThought(random)] : [])]
}

function makeThought(random: Random): Act {
  const lie = random.chance(8) ? { lie: random.pick(['high', 'none'] as const) } : {}
  return {
    do: 'think',
    ms: random.chance(8) ? 2500 + random.below(3000) : random.below(400),
    tokens: 1 + random.below(40),
    ...lie,
  }
}

function makeBackground(random: Random, kind: Kind, index: number): Act[] {
  const call: CallAct = {
    ...makeCall(random, kind, index),
    tool: 'sub_agent',
    background: true,
    agent: random.below(4),
  }
  return [
    { do: 'call', calls: [call] },
    makeThought(random),
    {
      do: 'wait',
      of: random.below(2),
      seconds: 1 + random.below(3),
      ...(random.chance(40) && { twice: true }),
    },
  ]
}

function makeCall(random: Random, kind: Kind, index: number): CallAct {
  const tool = random.chance(kind === 'ring' || kind === 'queue' || kind === 'wait' ? 85 : 45)
    ? 'call_agent'
    : random.chance(75)
      ? 'sub_agent'
      : 'subagent'
  // A few call an agent that does not exist, and a few name a main session instead of its agent.
  const named = random.chance(3)
    ? agentCount
    : random.chance(15)
      ? agentCount - 1
      : random.chance(kind === 'ring' ? 0 : 10)
        ? agentCount - 2
        : random.below(4)
  const agent = tool === 'call_agent' && random.chance(20) ? -Math.min(named, agentCount - 1) - 1 : named
  const script =
    named === agentCount - 1 && random.chance(95)
      ? scriptCount - 1
      : random.chance(8)
        ? index
        : Math.min(scriptCount - 1, index + 1 + random.below(4))
  return {
    tool,
    agent,
    script,
    ...(random.chance(40) && { timeoutMs: makeTimeout(random.below(2500)) }),
    ...(tool === 'sub_agent' && {
      nested: random.chance(85),
      ...(random.chance(25) && {
        allowed: random.pick([['*'], ['sub_agent', 'call_agent'], ['call_*', 'note'], ['note'], []]),
      }),
      ...(random.chance(kind === 'budget' ? 60 : 15) && { maxTokens: 20 + random.below(150) }),
      ...(random.chance(30) && { lastMessages: 2 + random.below(9) }),
      ...(random.chance(15) && { summary: true }),
      ...(random.chance(4) && { schema: true }),
      ...(random.chance(40) && { maxContext: 26 + random.below(24) }),
    }),
  }
}

/** A few ask for more than anybody gets. */
const makeTimeout = (drawn: number): number => (drawn % 12 === 0 ? 5100 : 50) + drawn

/** A child is opened in the very moment in which its parent's time is over. */
function addRace(random: Random, acts: Act[], index: number): void {
  const moment = 100 * (1 + random.below(3))
  acts.push({ do: 'think', ms: moment + random.below(5) - 2, tokens: 1 + random.below(5) })
  const calls = Array.from({ length: 1 + random.below(3) }, (): CallAct => ({
    tool: random.pick(['sub_agent', 'sub_agent', 'call_agent'] as const),
    agent: random.below(agentCount),
    script: Math.min(scriptCount - 1, index + 1 + random.below(2)),
    timeoutMs: 100 * (1 + random.below(4)) + random.below(7) - 3,
    ...(random.chance(25) && { background: true }),
    nested: true,
  }))
  acts.push({
    do: 'call',
    calls: calls.map((call) =>
      call.tool === 'call_agent'
        ? {
            tool: call.tool,
            agent: call.agent,
            script: call.script,
            ...(call.timeoutMs !== undefined && { timeoutMs: call.timeoutMs }),
          }
        : call,
    ),
  })
}

/** Few inboxes, so that several are after the same message. */
function makeMail(random: Random): MailAct[] {
  const sends = Array.from({ length: 4 + random.below(5) }, (_, id): MailAct => ({
    do: 'send',
    at: random.below(horizonMs),
    node: random.below(4),
    to: random.below(2),
    id,
    script: scriptCount - 1 - random.below(3),
    ...(id % 2 === 1 && { draft: true }),
    ...(random.chance(50) && { againMs: random.below(800) }),
  }))
  const accepts = Array.from({ length: 4 + random.below(6) }, (): MailAct => ({
    do: 'accept',
    at: random.below(horizonMs),
    node: random.below(4),
    of: random.below(2),
    ...(random.chance(50) && { id: random.below(3) }),
    ...(random.chance(30) && { newest: true }),
    ...(random.chance(60) && { twin: true }),
  }))
  return [...sends, ...accepts]
}

function makeRoots(random: Random, kind: Kind, scripts: number): Root[] {
  const many = kind === 'ring' || kind === 'queue' ? 7 : 5
  return Array.from({ length: many + random.below(4) }, (): Root => {
    const bunched = kind === 'ring' || kind === 'queue' || kind === 'race' || kind === 'wait'
    return {
      at: bunched ? random.below(6) * 700 + random.below(4) : random.below(horizonMs),
      node: random.below(4),
      agent: random.below(kind === 'ring' || kind === 'wait' ? 4 : agentCount - 1),
      main: random.chance(kind === 'ring' || kind === 'wait' ? 90 : kind === 'queue' ? 80 : 40),
      script: random.below(Math.min(scripts, 4)),
      ...(random.chance(15) && { timeoutMs: 500 + random.below(4000) }),
      ...(random.chance(kind === 'budget' ? 80 : 15) && { maxTokens: 40 + random.below(300) }),
      ...(random.chance(kind === 'race' ? 60 : 15) && {
        cancelAfterMs:
          kind === 'race' ? 100 * (1 + random.below(4)) + random.below(5) - 2 : random.below(3000),
        cancelNode: random.below(4),
      }),
    }
  })
}
