/**
 * The frames between us and a connected program that runs turns of its own sessions (`/ws/host`).
 *
 * The program says `hello` with its sessions, and may add or drop some later. We send `turn` when one of them
 * has something to do, `cancel` when it must stop.
 * It sends `delta` as it speaks, `tool` to use a tool with the authority of the turn, and `answer` once. A
 * turn that we send again after a break is the same turn: it is answered, not begun anew.
 * With each session it is given a token. What it does with that token is what the session does by itself
 * between our turns; while one of its turns runs, it is done in that turn, with its authority.
 *
 * A program that says in which directory it works is also asked to `open` sessions that were made here for
 * its agent: it makes one of its own, or forks one, and says `session` with ours in `as`; or `unopened` with
 * the reason. Then another program is asked, and where none is left, what waits for that session fails.
 */
import { z } from 'zod'
import { AgentName } from '../model/agent.ts'
import { SessionId } from '../model/id.ts'
import { Json } from '../model/json.ts'
import { hostDeltaMax, hostErrorMax, hostSessionsPerHelloMax, hostTitleMax } from '../model/limits.ts'
import type { ToolSpec, UsedTool } from './tools.ts'

const id = z.string().regex(/^[A-Za-z0-9_.-]{1,100}$/, 'letters, digits, "_", "-" and ".", at most 100')

export const HostedSession = z.strictObject({
  /** The program's own id for it; ours follows from it, so that it is the same session after a restart. */
  id,
  title: z.string().max(hostTitleMax).default(''),
  cwd: z.string().min(1).max(4096),
  /** The program's own id of the session that made it. */
  parent: id.nullish(),
  /** Ours, for one that was made here. */
  as: SessionId.nullish(),
  /** Another program that has it already keeps it, as long as it is there. */
  spare: z.boolean().default(false),
})
export type HostedSession = z.infer<typeof HostedSession>

export const HostFrame = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hello'),
    /** What runs in it, such as `opencode`. */
    agent: AgentName.max(50, 'at most 50 letters'),
    description: z.string().max(1000).default(''),
    sessions: z.array(HostedSession).max(hostSessionsPerHelloMax).default([]),
    /** Tools that its turns may use through us. */
    tools: z.array(z.string().min(1)).max(100).default([]),
    /** The directory in which it makes sessions when it is asked to. */
    opens: z.string().min(1).max(4096).nullish(),
  }),
  z.strictObject({ type: z.literal('session'), session: HostedSession }),
  z.strictObject({ type: z.literal('gone'), session: id }),
  /** One of ours that it was asked to open, and could not. */
  z.strictObject({ type: z.literal('unopened'), session: SessionId, why: z.string().max(hostErrorMax) }),
  z.strictObject({ type: z.literal('delta'), turn: z.string().max(200), text: z.string().max(hostDeltaMax) }),
  z.strictObject({
    type: z.literal('tool'),
    turn: z.string().max(200),
    id: z.string().min(1).max(200),
    name: z.string().min(1).max(100),
    input: Json,
  }),
  z.strictObject({
    type: z.literal('answer'),
    turn: z.string().max(200),
    output: z.string(),
    /** Why it failed; null where it did not. */
    error: z.string().max(hostErrorMax).nullish(),
    usage: z
      .strictObject({
        input: z.number().int().min(0),
        output: z.number().int().min(0),
        /** What the program says that it has cost. */
        costUsd: z.number().min(0).max(1_000_000).optional(),
      })
      .nullish(),
  }),
])
export type HostFrame = z.infer<typeof HostFrame>

/** `token` acts as the session. */
export type Registered = { id: string; sessionId: string; token: string }

/** The program's own ids in a frame: of a session, or of a turn and a use of a tool in it. */
export type About = { type: string; session?: string; turn?: string; id?: string }

/** A session that was created at the server, for which the program makes its own. */
export type HostOpening = {
  sessionId: string
  cwd: string
  title: string
  /** The program's own id of the session to continue from, and how many messages back. */
  fork: { id: string; back: number } | null
}

export type HostTask = {
  turn: string
  /** The program's own id of the session; `sessionId` is ours. */
  id: string
  sessionId: string
  /** As a model should read it: a peer's text is framed. */
  prompt: string
  task: string
  from: string | null
  source: string
  messageId: string | null
  /** The message that this one answers. */
  inReplyTo: string | null
  system: string
  deadline: number
  tools: readonly ToolSpec[]
}

/** What we send. */
export type ToHost =
  | { type: 'welcome'; agent: string; sessions: Registered[] }
  | ({ type: 'registered' } & Registered)
  | ({ type: 'open' } & HostOpening)
  | ({ type: 'turn' } & HostTask)
  | { type: 'cancel'; turn: string; cause: string }
  | ({ type: 'tool.result'; turn: string; id: string } & UsedTool)
  | {
      type: 'error'
      error: { code: string; message: string; field?: string }
      /** What was refused, so that nobody waits for it. */
      about: About
    }
