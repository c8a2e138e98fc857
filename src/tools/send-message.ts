/** `send-message`: writes to another session, to a new one or to a fork of oneself; keeps drafts; replies. */
import { z } from 'zod'
import { isRecord, type Json } from '../model/json.ts'
import { messageIdPattern } from '../model/mail.ts'
import type { ToolSpec } from '../wire/tools.ts'
import type { Tool, TurnContext } from '../runtime/kernel/ports.ts'
import { toJsonSchema, once } from './answer.ts'
import { nameSelf } from './calling.ts'
import { sessionTool } from './session-tools.ts'

const message = z
  .string()
  .refine((text) => text.trim() !== '', 'a text that says something')
  .refine((text) => text.isWellFormed(), 'text without halves of surrogate pairs')
const id = z.string().regex(messageIdPattern, 'letters, digits, "_" and "-", at most 128')
const reply = z
  .union([z.array(id).max(1, 'one id of a message, or none'), id])
  .describe('the id of a message that you were given or accepted; the answer goes to its sender, at once')

const Input = z.strictObject({
  message: message.optional().describe('the text; left out, the draft with this id is sent as it is'),
  session: z
    .string()
    .min(1, '"new", "fork" or a session')
    .optional()
    .describe(
      '"new" (default), "fork", or a session by its id or a unique part of it, where it waits until it is accepted',
    ),
  elaborate: z
    .boolean()
    .optional()
    .describe('true: written out for a reader who does not know this conversation, before it is sent'),
  fork: z
    .union([z.boolean(), z.number().int().min(0)])
    .optional()
    .describe(
      'true: to a fork of your session; a number: of what it was so many messages ago. Without session',
    ),
  iterate: z.boolean().optional().describe('true: changes the draft with this id; message says how'),
  id: id.optional().describe('your own id for it; that of a draft changes or sends the draft'),
  draft: z.boolean().optional().describe('true: kept with you, not sent; false (default): sent, once'),
  reply: reply.optional(),
})
/** What is left to an agent that may not write to others. */
const replySchema = once(() => toJsonSchema(z.strictObject({ message, reply, id: id.optional() })))

const base = sessionTool({
  name: 'send-message',
  description: (turn) =>
    'Writes a message to a session and does not wait. To a new session or a fork it is delivered at once; ' +
    'to one that is there it waits in its inbox until it is accepted; a reply is delivered at once. ' +
    nameSelf(turn),
  input: Input,
  async run({ reply: to, ...asked }, { acts, stepKey }) {
    const given = Object.fromEntries(
      Object.entries(asked).filter(([, value]) => value !== undefined),
    ) as typeof asked
    return acts.sendMail(
      { ...given, ...(to === undefined ? {} : { reply: typeof to === 'string' ? [to] : to }) } as Parameters<
        typeof acts.sendMail
      >[0],
      stepKey,
    )
  },
})

/** Nothing is required any more; the keyword stays, because clients of 0.1.0 know it. */
const withRequired = (spec: ToolSpec): ToolSpec =>
  isRecord(spec.input)
    ? { ...spec, input: { required: [], ...(spec.input as { [name: string]: Json }) } }
    : spec

/** Whether anything but a reply could be allowed; the rules decide again when it is sent. */
const maySend = ({ turn, agent }: TurnContext): boolean =>
  agent.allowSubAgentCalls && turn.grant.authority.nested && turn.grant.depth < agent.maxDepth

/** Replying stays where calling is not allowed, so the tool stays, with what is left of it. */
export const sendMessage: Tool = {
  ...base,
  describe: (turn) =>
    maySend(turn)
      ? withRequired(base.describe(turn))
      : {
          name: base.name,
          description: 'Replies to a message that you accepted. You may not write to anybody else.',
          input: replySchema(),
        },
}
