/** Agents as everybody outside sees them. */
import { z } from 'zod'
import { SessionId } from '../model/id.ts'
import { millis, PlanWindow } from './scalars.ts'

export const AgentView = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    driver: z.string(),
    model: z.string().nullable(),
    tools: z.array(z.string()),
    allowSubAgentCalls: z.boolean(),
    mayCall: z.array(z.string()).nullable(),
    origin: z.enum(['configured', 'api', 'built-in']),
    session: SessionId.nullable(),
    system: z.string(),
    createdAt: millis.nullable(),
    project: z.string().nullable().describe('the directory of its project; null: of the whole server'),
    status: z.enum(['ready', 'unavailable']).describe('whether it can be called now'),
    reason: z.string().nullable().describe('why it cannot be called'),
    limit: z.string().exactOptional().describe('a limit that it or its provider has reached, and until when'),
    windows: z.array(PlanWindow).exactOptional(),
  })
  .meta({ id: 'Agent' })
export type AgentView = z.infer<typeof AgentView>

export const Agents = z.object({ agents: z.array(AgentView) })
export type Agents = z.infer<typeof Agents>
