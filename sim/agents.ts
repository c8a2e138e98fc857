/** The agents of the simulated world, and its limits: small, so that runs reach them. */
import { Agent } from '../src/model/agent.ts'
import { Limits } from '../src/model/limits.ts'
import type { SessionId } from '../src/model/id.ts'

export const agentCount = 6

/** The last agent calls nobody, and `a2` and `a3` may not call `a4`. */
const mayCall: readonly (string[] | undefined)[] = [
  undefined,
  undefined,
  ['a0', 'a1', 'a3', 'a5', 'ghost'],
  ['a0', 'a1', 'a2', 'a5'],
  undefined,
  undefined,
]

/** Null is everybody. */
export const mayCallByName = (name: string): readonly string[] | null =>
  mayCall[Number(name.slice(1))] ?? null

export const agents: ReadonlyMap<string, Agent> = new Map(
  Array.from({ length: agentCount }, (_, index) => {
    const name = nameAgent(index)
    return [
      name,
      Agent.parse({
        name,
        driver: 'sim',
        prompt: `You are ${name} and you do what your script says.`,
        tools: index === 3 ? ['sub_agent', 'call_agent', 'wait_for_call', 'note'] : ['*'],
        allowSubAgentCalls: index !== 5,
        // A person is asked first, where there is one.
        ask: index === 4 ? ['note'] : [],
        maxDepth: index === 2 ? 2 : 5,
        ...(mayCall[index] !== undefined && { mayCall: mayCall[index] }),
      }),
    ]
  }),
)

export const agentNames: readonly string[] = [...agents.keys()].sort()

/** An index past the last agent names one that does not exist. */
export function nameAgent(index: number): string {
  return index < agentCount ? `a${index}` : 'ghost'
}

export const getMainSession = (agent: string): SessionId => `ses_main-${agent}`

export const makeLimits = (more: Record<string, number>): Limits =>
  Limits.parse({
    depthMax: 4,
    callsPerCallerMax: 4,
    queuedPerSessionMax: 3,
    descendantsPerFlowMax: 12,
    callsPerMinute: 24,
    callTimeoutMsMax: 5000,
    callAgentTimeoutMs: 3000,
    subagentTimeoutMs: 3000,
    subAgentTimeoutMs: 4000,
    inactivityMs: 6000,
    turnMsMax: 8000,
    contextTokens: 120,
    taskBytesMax: 6000,
    ...more,
  })
