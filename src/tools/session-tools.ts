/** The tools for other sessions: write to one, look at one, make one, wait for one. */
import { z } from 'zod'
import type { Json } from '../model/json.ts'
import { waitSecondsDefault, waitSecondsMax } from '../model/limits.ts'
import { explain, refusalOfZod, type Refusal, isRefusal } from '../model/refusal.ts'
import type { Tool, ToolAnswer, ToolContext, TurnContext } from '../runtime/kernel/ports.ts'
import { toJsonSchema, once } from './answer.ts'
import { whoMayBeCalled } from './calling.ts'
import type { SessionState } from '../wire/sessions.ts'

const errorOf = (refusal: Refusal): Json => ({ code: refusal.code, message: explain(refusal) })

type Definition<Input extends z.ZodType> = {
  name: string
  calling: boolean
  waits?: boolean
  description: (turn: TurnContext) => string
  input: Input
  run: (input: z.output<Input>, context: ToolContext) => Promise<Record<string, Json> | Refusal>
  /** The keys of the answer where there is none. */
  nothing: (input: Json) => Record<string, Json>
}

/** Each may be repeated after a crash: what it sends or makes has an id that follows from its step. */
export function sessionTool<Input extends z.ZodType>({
  name,
  calling,
  waits = false,
  description,
  input,
  run,
  nothing,
}: Definition<Input>): Tool {
  const schema = once(() => toJsonSchema(input))
  const no = (refusal: Refusal, given: Json): ToolAnswer => ({
    ok: false,
    value: { ...nothing(given), error: errorOf(refusal) },
  })
  return {
    name,
    effect: 'read',
    calling,
    waits,
    describe: (turn) => ({ name, description: description(turn), input: schema() }),
    async run(given, context) {
      const parsed = input.safeParse(given)
      if (!parsed.success) return no(refusalOfZod(parsed.error, given), given)
      const answer = await run(parsed.data, context)
      return isRefusal(answer) && typeof answer['code'] === 'string'
        ? no(answer as Refusal, given)
        : { ok: true, value: { ...answer, error: null } }
    },
    refuse: async (refusal, given) => no(refusal, given),
  }
}

const sessionId = z.string().min(1, 'the id of a session ("ses_…")').describe('which session')
const idIn = (input: Json): string =>
  input !== null &&
  typeof input === 'object' &&
  !Array.isArray(input) &&
  typeof input['sessionId'] === 'string'
    ? input['sessionId']
    : ''
const text = z.string().refine((message) => message.trim() !== '', 'a text that says what to do')

const sendAgentMessage = sessionTool({
  name: 'send_agent_message',
  calling: true,
  description: ({ session }) =>
    `Writes to another session and does not wait; it is answered, if at all, by a message to you. Your own session is ${session.id}: say so if you want an answer.`,
  input: z.strictObject({ sessionId, message: text }),
  nothing: (input) => ({ messageId: '', status: null, sessionId: idIn(input) }),
  run: async ({ sessionId: to, message }, { acts, stepKey }) => acts.send(to, message, stepKey),
})

const stateNothing = (input: Json): Record<string, Json> => ({
  sessionId: idIn(input),
  status: null,
  cwd: '',
  isActive: false,
  lastMessage: null,
  queued: 0,
  parent: null,
  depth: 0,
})

/** A long answer is shown in part: the whole is in the session. */
function shownState(
  state: SessionState | Refusal,
  { shownTokens }: ToolContext,
): Record<string, Json> | Refusal {
  if (isRefusal(state)) return state
  const unitsMax = shownTokens * 4
  const last = state.lastMessage
  return {
    ...state,
    lastMessage:
      last === null
        ? null
        : {
            ...last,
            content:
              last.content.length > unitsMax
                ? `${last.content.slice(0, unitsMax).toWellFormed()}…`
                : last.content,
          },
  }
}

const getSessionState = sessionTool({
  name: 'get_session_state',
  calling: false,
  description: () => 'Says whether a session is idle, streaming or in error, and what was said in it last.',
  input: z.strictObject({ sessionId }),
  nothing: stateNothing,
  run: async ({ sessionId: id }, context) => shownState(await context.acts.state(id), context),
})

const createAgentSession = sessionTool({
  name: 'create_agent_session',
  calling: true,
  description: (turn) =>
    `Makes a session of an agent in a directory, and gives it a first message if you like. It works on its own; look with get_session_state, wait with wait_for_session. ${whoMayBeCalled(turn)}`,
  input: z.strictObject({
    cwd: z.string().min(1, 'a directory that exists').describe('the directory it works in'),
    initialMessage: text.optional(),
    agent: z.string().min(1).optional().describe('which agent; your own definition by default'),
    model: z.string().min(1).optional().describe('provider/model instead of its own'),
  }),
  nothing: () => ({ sessionId: '', cwd: '', agent: '', messageId: null }),
  run: async ({ cwd, initialMessage, agent, model }, { acts, stepKey }) =>
    acts.spawn(
      { cwd, initialMessage: initialMessage ?? null, agent: agent ?? null, model: model ?? null },
      stepKey,
    ),
})

const waitForSession = sessionTool({
  name: 'wait_for_session',
  calling: false,
  waits: true,
  description: () =>
    'Waits until a session is idle, and returns its state; or the present state when the time is over.',
  input: z.strictObject({
    sessionId,
    timeout_seconds: z
      .number()
      .min(0)
      .optional()
      .describe(`default ${waitSecondsDefault}, at most ${waitSecondsMax}`),
  }),
  nothing: stateNothing,
  async run({ sessionId: id, timeout_seconds: seconds }, context) {
    const state = shownState(
      await context.acts.waitForSession(id, Math.min(seconds ?? waitSecondsDefault, waitSecondsMax) * 1000),
      context,
    )
    if (isRefusal(state)) return state
    return {
      ...state,
      next:
        state['isActive'] === true
          ? `Still at work. Call wait_for_session with sessionId "${id}" again.`
          : null,
    }
  },
})

export const sessionTools: readonly Tool[] = [
  sendAgentMessage,
  getSessionState,
  createAgentSession,
  waitForSession,
]
