/** Our tools as opencode offers them to its models. */
import type { ToolSpec, UsedTool } from '../../wire/tools.ts'
import { ServerUnreachable, TielineError } from '../../client/tieline-error.ts'
import { faultMessage } from '../../model/contained.ts'
import { isRecord, type Json } from '../../model/json.ts'
import type { DeliveredTurns } from './delivered-turns.ts'
import { expandedMessage, isExpanding, type ExpandingDeps } from './expanded-message.ts'
import type { KnownSessions } from './known-sessions.ts'
import type { OpencodeTool, ToolUseContext } from './opencode-api.ts'

export type OfferedToolsDeps = Pick<ExpandingDeps, 'opencode' | 'report'> & {
  sessions: Pick<KnownSessions, 'taken' | 'sending' | 'aside'>
  turns: Pick<DeliveredTurns, 'of' | 'has' | 'noteReply'>
}

export const offeredTools = (
  specs: readonly ToolSpec[],
  deps: OfferedToolsDeps,
): Record<string, OpencodeTool> => Object.fromEntries(specs.map((spec) => [spec.name, makeTool(spec, deps)]))

function makeTool({ name, description, input }: ToolSpec, deps: OfferedToolsDeps): OpencodeTool {
  return {
    description,
    args: argumentsIn(input),
    async execute(args, context) {
      const { ok, value } = await use(deps, name, args as Record<string, Json>, context)
      // In lines, because opencode cuts what it shows at whole lines.
      return { title: makeTitle(args), output: JSON.stringify(value, null, 2), metadata: { ok } }
    },
  }
}

/** opencode takes all of these as required; the `tool.definition` hook corrects what the model is shown. */
function argumentsIn(schema: Json): Record<string, unknown> {
  const properties = isRecord(schema) ? schema['properties'] : undefined
  return isRecord(properties) ? properties : {}
}

/** A failure is an answer too: a model can read it and go on. */
async function use(
  deps: OfferedToolsDeps,
  name: string,
  args: Record<string, Json>,
  context: ToolUseContext,
): Promise<UsedTool> {
  try {
    const answer = useAs(deps, name, args, context)
    if (name === 'send-message') deps.sessions.sending(context.sessionID, context.messageID, answer)
    return await answer
  } catch (error) {
    if (context.abort.aborted) throw error
    const code =
      error instanceof TielineError
        ? error.code
        : error instanceof ServerUnreachable
          ? 'server_unreachable'
          : 'not_possible'
    return { ok: false, value: { error: { code, message: faultMessage(error) } } }
  }
}

async function useAs(
  deps: OfferedToolsDeps,
  name: string,
  args: Record<string, Json>,
  context: ToolUseContext,
): Promise<UsedTool> {
  const [turn, own] = await Promise.all([deps.turns.of(context), deps.sessions.taken(context.sessionID)])
  if (turn !== null && name === 'send-message' && isReplyTo(args['reply'], turn.messageId))
    deps.turns.noteReply(turn)
  // While a turn is delivered the server hands what is accepted to that turn: no prompt follows.
  const handed = turn !== null || deps.turns.has(context.sessionID)
  const use = (input: Record<string, Json>): Promise<UsedTool> =>
    // Without a key of its own what it makes has a short id, which a model repeats without a slip.
    turn === null
      ? own.client.tools.use(name, input, {}, { signal: context.abort, key: null })
      : turn.tool(name, input)
  const answer = await (isExpanding(name, args) ? expandedMessage(deps, own, args, context, use) : use(args))
  return handed ? answer : withNext(name, answer)
}

const isReplyTo = (reply: Json | undefined, message: string | null): boolean =>
  Array.isArray(reply) &&
  message !== null &&
  reply.some((id) => typeof id === 'string' && id.replace(/^msg_/, '') === message.replace(/^msg_/, ''))

/**
 * What a session of opencode accepts comes to it as its next prompt, so that its answer is one to that
 * message alone.
 */
function withNext(name: string, answer: UsedTool): UsedTool {
  const { ok, value } = answer
  if (name !== 'buffer' || !isRecord(value) || value['accepted'] !== true) return answer
  const next =
    'It comes to its session as the next message there, and what is answered to that goes back as the reply. ' +
    'Do not answer it now: end your turn.'
  return { ok, value: { ...(value as Record<string, Json>), instruction: next, next } }
}

function makeTitle(args: Record<string, unknown>): string {
  const said = ['agent_name', 'agent_id', 'session', 'sessionId', 'call_id', 'accept', 'task', 'message']
    .map((field) => args[field])
    .find((value) => typeof value === 'string' && value !== '')
  return typeof said === 'string' ? said.slice(0, 60).toWellFormed() : ''
}
