/**
 * What a replay needs beside the log: how the agents were configured, and what their tools were. It goes with
 * an export, so that it replays where nobody has that configuration.
 */
import { z } from 'zod'
import { Agent } from '../../model/agent.ts'
import { Json } from '../../model/json.ts'
import { Limits } from '../../model/limits.ts'
import type { Agents } from '../kernel/ports.ts'

const Parameters = z.record(z.string(), z.record(z.string(), Json))

export const ReplaySetup = z.strictObject({
  /** Those that ran, whole; of the others what a caller is told of them. */
  agents: z.array(Agent),
  limits: Limits,
  subagent: z.string().nullable(),
  artifactKinds: z.array(z.enum(['note', 'path', 'diff', 'json'])),
  tools: z.strictObject({ enable: z.array(z.string()), defaults: Parameters, locked: Parameters }),
  /** What could not be put in, each with why. */
  missing: z.array(z.string()),
})
export type ReplaySetup = z.infer<typeof ReplaySetup>

/** The rest of it, which is the same for every export; `inCode` are agents and tools that only code can give. */
export type SetupParts = Omit<ReplaySetup, 'agents' | 'missing'> & {
  agents: Agents
  inCode: { agents: readonly string[]; tools: readonly string[] }
}

/** `ran` are the agents whose turns are exported. Their MCP servers stay behind: a replay starts none. */
export function describeSetup(parts: SetupParts, ran: ReadonlySet<string>): ReplaySetup {
  const { agents, inCode, ...rest } = parts
  const names = [...new Set([...agents.names(), ...ran])]
  const found = names.flatMap((name) => agents.get(name) ?? [])
  return {
    ...rest,
    agents: found.map((agent) =>
      ran.has(agent.name)
        ? { ...agent, mcpServers: {} }
        : Agent.parse({
            name: agent.name,
            title: agent.title,
            description: agent.description,
            driver: agent.driver,
            model: agent.model,
          }),
    ),
    missing: [
      ...[...ran].flatMap((name) =>
        inCode.agents.includes(name)
          ? [`the agent "${name}" is defined in code: replay it with openLog({ agents }) of that program`]
          : agents.get(name) === undefined && name !== 'external'
            ? [
                `the agent "${name}" is not configured any more: put it back into the configuration to replay it`,
              ]
            : [],
      ),
      ...inCode.tools.map(
        (name) => `the tool "${name}" is defined in code: its description is not in the file`,
      ),
    ],
  }
}
