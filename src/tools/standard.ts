/** The tools that every agent can be given, by name. */
import type { CountTokens } from '../model/text.ts'
import type { Tool } from '../runtime/kernel/ports.ts'
import { toolAnswers } from '../wire/tools.ts'
import { buffer } from './buffer.ts'
import { callAgentTool } from './call-agent.ts'
import { edit } from './edit.ts'
import { list } from './list.ts'
import { read } from './read.ts'
import { readOutput } from './read-output.ts'
import { search } from './search.ts'
import { sendMessage } from './send-message.ts'
import { sessionTools } from './session-tools.ts'
import { shell } from './shell.ts'
import { subAgentTool } from './sub-agent.ts'
import { subagentTool, type ArtifactKind } from './subagent.ts'
import { waitForCallTool } from './wait-for-call.ts'
import { write } from './write.ts'

export const standardTools = (
  count: CountTokens,
  artifactKinds: readonly ArtifactKind[],
): readonly Tool[] => [
  read,
  write,
  edit,
  list,
  search,
  shell,
  subAgentTool(count),
  subagentTool(count, artifactKinds),
  callAgentTool(count),
  waitForCallTool(count),
  readOutput,
  ...sessionTools,
  sendMessage,
  buffer,
]

/** What a client outside may use: what concerns agents and sessions, never files or processes. */
export const doorTools: readonly string[] = Object.keys(toolAnswers)
