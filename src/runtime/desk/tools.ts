/** Tools by name, as anybody may use them. */
import type { SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import type { Recorded, Tools, TracedTool } from '../../wire/tools.ts'
import type { ToolAnswer } from '../kernel/ports.ts'
import { traceTool } from '../sessions/trace-tool.ts'
import type { Asker, Who } from './asker.ts'
import type { Gate } from './gate.ts'
import type { DeskParts } from './parts.ts'
import { listTools, useTool } from './use-tool.ts'

export type ToolDesk = {
  /** What the asker is offered, or what any session of an agent is. */
  list(ask?: { session?: string | undefined; agent?: string | undefined }): Promise<Tools | Refusal>
  /** Blocks until the tool has answered. What a rule does not allow is an answer in the tool's own shape. */
  use(name: string, input: Json, ask?: { session?: string | undefined }): Promise<ToolAnswer | Refusal>
  /** Records what a program outside did with a tool of its own. */
  trace(session: string, traced: TracedTool): Promise<Recorded | Refusal>
  /** As whom the asker uses tools. */
  actor(session?: string): Promise<Exclude<Who, { kind: 'user' }> | Refusal>
}

export const toolDesk = (parts: DeskParts, asker: Asker, gate: Gate): ToolDesk => ({
  async list({ session, agent } = {}) {
    const who = agent === undefined ? await gate.actor('session', session ?? null) : asker.who
    const tools = isRefusal(who) ? who : await listTools(parts, who, agent)
    return isRefusal(tools) ? tools : { tools }
  },
  async use(name, input, { session } = {}) {
    const who = await gate.actor('session', session ?? null)
    return isRefusal(who) ? who : useTool(parts, { ...asker, who }, name, input)
  },
  async trace(session, traced) {
    const row = await gate.find(session)
    return isRefusal(row) ? row : traceTool(parts.runtime, row.id as SessionId, traced)
  },
  actor: (session) => gate.actor('session', session ?? null),
})
