/** Parts of events that are shapes of their own. */
import { z } from 'zod'
import { SessionId } from './id.ts'

const count = z.number().int().min(0)

/** An agent as a door made it. */
export const AgentDefinition = z.strictObject({
  title: z.string(),
  description: z.string(),
  prompt: z.string(),
  model: z.string().nullable(),
  tools: z.array(z.string()),
  /** `host` for one that a connected program runs. */
  driver: z.string().nullable(),
})
export type AgentDefinition = z.infer<typeof AgentDefinition>

/** Notices since the session's last turn, for the turn that this opens; `upTo` is the number of the last. */
export const Notices = z.strictObject({
  upTo: z.number().int(),
  texts: z.array(z.strictObject({ about: z.string(), text: z.string() })),
})
export type Notices = z.infer<typeof Notices>

/** Whom a draft is for: an existing session, a new one, or a fork of the sender's some messages back. */
export const MailTarget = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('session'), session: SessionId }),
  z.strictObject({ kind: z.literal('new') }),
  z.strictObject({ kind: z.literal('fork'), back: count }),
])
export type MailTarget = z.infer<typeof MailTarget>
