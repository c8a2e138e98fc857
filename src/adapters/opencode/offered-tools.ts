import type { ToolSpec } from '../../wire/tools.ts'
import { ServerUnreachable, TielineError } from '../../client/tieline-error.ts'
import type { Json } from '../../model/json.ts'
import type { DeliveredTurns } from './delivered-turns.ts'
import { expandedMessage, isExpanding, type ExpandingDeps } from './expanded-message.ts'
import type { KnownSessions } from './known-sessions.ts'
import type { OpencodeTool, ToolUseContext } from './opencode-api.ts'

export type OfferedToolsDeps = Pick<ExpandingDeps, 'opencode' | 'report'> & {
  sessions: Pick<KnownSessions, 'taken' | 'sending' | 'aside'>
  turns: Pick<DeliveredTurns, 'of' | 'has' | 'noteReply'>
}

type Used = { ok: boolean; value: Json }

export const offeredTools = (
  specs: readonly ToolSpec[],
  deps: OfferedToolsDeps,
): Record<string, OpencodeTool> => Object.fromEntries(specs.map((spec) => [spec.name, toolOf(spec, deps)]))

function toolOf({ name, description, input }: ToolSpec, deps: OfferedToolsDeps): OpencodeTool {
  return {
    description,
    args: argumentsIn(input),
    async execute(args, context) {
      const { ok, value } = await used(deps, name, args as Record<string, Json>, context)
      // In lines, because opencode cuts what it shows at whole lines.
      return { title: titleOf(args), output: JSON.stringify(value, null, 2), metadata: { ok } }
    },
  }
}

/** opencode takes these for required, all of them; the definition itself is put right when it is shown. */
function argumentsIn(schema: Json): Record<string, unknown> {
  const properties =
    schema !== null && typeof schema === 'object' && !Array.isArray(schema) ? schema['properties'] : undefined
  return properties !== null && typeof properties === 'object' && !Array.isArray(properties) ? properties : {}
}

/** A failure is an answer too: a model can read it and go on. */
async function used(
  deps: OfferedToolsDeps,
  name: string,
  args: Record<string, Json>,
  context: ToolUseContext,
): Promise<Used> {
  try {
    const answer = usedAs(deps, name, args, context)
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
    return {
      ok: false,
      value: { error: { code, message: error instanceof Error ? error.message : String(error) } },
    }
  }
}

async function usedAs(
  deps: OfferedToolsDeps,
  name: string,
  args: Record<string, Json>,
  context: ToolUseContext,
): Promise<Used> {
  const [turn, own] = await Promise.all([deps.turns.of(context), deps.sessions.taken(context.sessionID)])
  if (turn !== null && name === 'send-message' && isReplyTo(args['reply'], turn.messageId))
    deps.turns.noteReply(turn)
  // While a turn is delivered the server hands what is accepted to that turn: no prompt follows.
  const handed = turn !== null || deps.turns.has(context.sessionID)
  const use = (input: Record<string, Json>): Promise<Used> =>
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
function withNext(name: string, answer: Used): Used {
  const { value } = answer
  if (
    name !== 'buffer' ||
    value === null ||
    typeof value !== 'object' ||
    Array.isArray(value) ||
    value['accepted'] !== true
  )
    return answer
  return {
    ...answer,
    value: {
      ...value,
      next: 'It comes to its session as the next message there, and what is answered to that goes back as the reply. Do not answer it now: end your turn.',
    },
  }
}

function titleOf(args: Record<string, unknown>): string {
  const said = ['agent_name', 'agent_id', 'session', 'sessionId', 'call_id', 'accept', 'task', 'message']
    .map((field) => args[field])
    .find((value) => typeof value === 'string' && value !== '')
  return typeof said === 'string' ? said.slice(0, 60).toWellFormed() : ''
}
