/** The tools that every agent can be given, by name. */
import type { CountTokens } from '../model/text.ts'
import type { Tool } from '../runtime/kernel/ports.ts'
import { toolAnswers } from '../wire/tools.ts'
import { buffer, waitForMail } from './buffer.ts'
import { callAgentTool } from './calling.ts'
import { edit } from './edit.ts'
import { list } from './list.ts'
import { listAgents } from './list-agents.ts'
import { read } from './read.ts'
import { readOutput } from './read-output.ts'
import { search } from './search.ts'
import { sendMessage } from './send-message.ts'
import { sessionTools } from './session-tools.ts'
import { shell } from './shell.ts'
import { subAgentTool } from './calling.ts'
import { subagentTool, type ArtifactKind } from './subagent.ts'
import { steerCall } from './steer-call.ts'
import { waitForCallTool } from './wait-for-call.ts'
import { write } from './write.ts'

export const standardTools = (
  count: CountTokens,
  artifactKinds: readonly ArtifactKind[],
  hidden: readonly string[] = [],
): readonly Tool[] => [
  ...[read, write, edit, list, search].map((tool) => hide(tool, hidden)),
  shell,
  subAgentTool(count),
  subagentTool(count, artifactKinds),
  callAgentTool(count),
  waitForCallTool(count),
  readOutput,
  listAgents,
  steerCall,
  ...sessionTools,
  sendMessage,
  buffer,
  waitForMail,
]

/** A tool that leaves these directories alone, wherever its session works. */
const hide = (tool: Tool, hidden: readonly string[]): Tool => ({
  ...tool,
  run: (input, context) => tool.run(input, { ...context, hidden }),
})

/** What a client outside may use: what concerns agents and sessions, never files or processes. */
export const doorTools: readonly string[] = Object.keys(toolAnswers)
