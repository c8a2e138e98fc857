/** How programs are started that work for an agent: a shell, an MCP server, an agent that we drive. */
import type { SandboxMode } from '../../model/agent.ts'
import type { TurnId } from '../../model/id.ts'
import type { Refusal } from '../../model/refusal.ts'

/** A program, and all that it sees of our environment. */
export type Command = {
  program: string
  args: readonly string[]
  /** In a sandbox it may write here, and nowhere else. */
  cwd: string
  env: Readonly<Record<string, string>>
}

export type LaunchPolicy = {
  /** What the agent's own configuration says; undefined leaves it to the server's. */
  sandbox: SandboxMode | undefined
  /** The turn that starts the program: it is given the token of this turn. */
  turn: TurnId | null
  /** Places that belong to the program itself, such as its login: a sandbox lets it see and change them. */
  own?: readonly string[]
  /** What it is made of, wherever that is. */
  seen?: readonly string[]
}

/** What to spawn in place of the command. */
export type Launch = Command & { sandboxed: boolean }

/** Answers with a refusal where a sandbox is required and this machine has none. */
export type Launcher = { wrap(command: Command, policy: LaunchPolicy): Promise<Launch | Refusal> }
