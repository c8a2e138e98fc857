/** Who is there in the simulated world, and its bounds: small, so that they are reached. */
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

export const agents: ReadonlyMap<string, Agent> = new Map(
  Array.from({ length: agentCount }, (_, index) => {
    const name = nameOf(index)
    return [
      name,
      Agent.parse({
        name,
        driver: 'sim',
        prompt: `You are ${name} and you do what your script says.`,
        tools: index === 3 ? ['sub_agent', 'call_agent', 'wait_for_call', 'note'] : ['*'],
        allowSubAgentCalls: index !== 5,
        maxDepth: index === 2 ? 2 : 5,
        ...(mayCall[index] !== undefined && { mayCall: mayCall[index] }),
      }),
    ]
  }),
)

export const agentNames: readonly string[] = [...agents.keys()].sort()

/** Beyond the last one nobody is known. */
export function nameOf(index: number): string {
  return index < agentCount ? `a${index}` : 'ghost'
}

export const mainOf = (agent: string): SessionId => `ses_main-${agent}`

export const limitsOf = (more: Record<string, number>): Limits =>
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
    ...more,
  })
