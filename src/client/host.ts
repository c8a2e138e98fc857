/** A program of your own as the runner of sessions: what it registers, and what its turns get. */
import type { Json } from '../model/json.ts'
import type { HostOpening, HostTask } from '../wire/host.ts'
import type { UsedTool } from '../wire/tools.ts'
import type { TielineClient } from './client.ts'
import type { RunAnswer } from './host-frames.ts'

export type HostSession = {
  /** The program's own id of the session. */
  id: string
  title?: string
  cwd: string
  parent?: string | null
  /** Our id, for a session that was created at the server. */
  as?: string | null
  /** Leaves the session to another connected program that already has it. */
  spare?: boolean
}

export type HostTurn = HostTask & {
  /** Aborts when the turn was cancelled. */
  signal: AbortSignal
  say(text: string): void
  /** Uses a tool with the authority of this turn. */
  tool(name: string, input: Json): Promise<UsedTool>
}

/** Why a turn's signal aborts that nobody has cancelled. The server gives it again to the next connection. */
export class ConnectionClosed extends Error {
  constructor() {
    super('the connection was closed')
  }
}

export type HostAsk = {
  agent: string
  description?: string
  tools?: readonly string[]
  sessions?: readonly HostSession[]
  /** Makes sessions that are asked for at the server, for this agent and directory. */
  opens?: { cwd: string; open(asked: HostOpening): Promise<HostSession> }
  /** Returns the answer of a turn; a turn whose `run` throws has failed. */
  run(turn: HostTurn): Promise<RunAnswer>
  onConnection?: (state: { open: boolean; why: string }) => void
  /** Called with what the server refuses. */
  onError?: (error: { code: string; message: string }) => void
}

/** The id that the server gave a session, and a client that acts as it, outside of its turns. */
export type TakenSession = { sessionId: string; client: TielineClient }

export type HostConnection = {
  /** Resolves with our id; rejects if the server refuses the session, or the connection is closed before. */
  add(session: HostSession): Promise<string>
  remove(id: string): void
  /** Null until the server has taken the session. */
  taken(id: string): TakenSession | null
  /** Resolves when the server has taken the first hello. */
  readonly ready: Promise<void>
  close(): void
}
