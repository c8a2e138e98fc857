/** The tools that every agent can be given, by name. */
import type { CountTokens } from '../model/text.ts'
import type { Tool } from '../runtime/ports.ts'
import { callAgentTool } from './call-agent.ts'
import { edit } from './edit.ts'
import { list } from './list.ts'
import { read } from './read.ts'
import { readOutput } from './read-output.ts'
import { search } from './search.ts'
import { shell } from './shell.ts'
import { subAgentTool } from './sub-agent.ts'
import { subagentTool, type ArtifactKind } from './subagent.ts'
import { waitForCallTool } from './wait-for-call.ts'
import { write } from './write.ts'

export const standardTools = (count: CountTokens, artifactKinds: readonly ArtifactKind[]): readonly Tool[] => [
  read, write, edit, list, search, shell,
  subAgentTool(count), subagentTool(count, artifactKinds), callAgentTool(count), waitForCallTool(count), readOutput,
]
