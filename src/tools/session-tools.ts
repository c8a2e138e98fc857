/** The tools for other sessions: list them, write to one, look at one, make one, wait for one. */
import { resolve } from 'node:path'
import { z } from 'zod'
import type { Json } from '../model/json.ts'
import { type Refusal, isRefusal } from '../model/refusal.ts'
import type { Tool, ToolContext } from '../runtime/kernel/ports.ts'
import type { SessionState } from '../wire/sessions.ts'
import type { ToolName } from '../wire/tools.ts'
import { answered, parsedTool, Task, type ToolDefinition } from './answer.ts'
import { nameSelf, whoMayBeCalled } from './calling.ts'
import { refuseTool } from './refused-answer.ts'
import { describeRing, toWaitMs, WaitSeconds } from './wait-for-call.ts'

type Fields = { [name: string]: Json }
type SessionDefinition<Input extends z.ZodType> = Pick<
  ToolDefinition<Input>,
  'calling' | 'waits' | 'description' | 'input'
> & {
  name: ToolName
  run(input: z.output<Input>, context: ToolContext): Promise<Fields | Refusal>
}

/** Each may be repeated after a crash: what it sends or makes has an id that follows from its step. */
export const sessionTool = <Input extends z.ZodType>(definition: SessionDefinition<Input>): Tool =>
  parsedTool({
    ...definition,
    effect: 'read',
    async run(input, context) {
      const answer = await definition.run(input, context)
      return isRefusal(answer)
        ? refuseTool(definition.name, input, answer)
        : answered({ ...answer, error: null })
    },
    refuse: async (refusal, input) => refuseTool(definition.name, input, refusal),
  })

const sessionId = z.string().min(1, 'the id of a session ("ses_…")').describe('which session')

/** Instead of a directory. */
const anywhere = '*'

const listSession = sessionTool({
  name: 'list-session',
  description: (turn) =>
    'Lists sessions, newest first, with how many messages wait in the inbox of each. ' +
    (turn.atDoor === true ? 'Your own is you.' : nameSelf(turn)),
  input: z.strictObject({
    dir: z
      .string()
      .min(1, 'a directory, or "*" for all')
      .nullable()
      .optional()
      .describe('only sessions of this directory, by default your own; "*": all'),
    active: z
      .boolean()
      .nullable()
      .optional()
      .describe('true: only those that run or have work queued; false: only those that rest'),
  }),
  run: async ({ dir, active = null }, { acts, session }) => ({
    you: session.id,
    sessions: await acts.listSessions({
      dir: dir === anywhere ? null : resolve(session.cwd, dir ?? '.'),
      active,
    }),
  }),
})

const sendAgentMessage = sessionTool({
  name: 'send_agent_message',
  calling: true,
  description: (turn) =>
    'Writes to another session and does not wait; it is answered, if at all, by a message to you. ' +
    `${nameSelf(turn)} Say so if you want an answer.`,
  input: z.strictObject({ sessionId, message: Task.describe('what you write') }),
  run: ({ sessionId: to, message }, { acts, stepKey }) => acts.send(to, message, stepKey),
})

/** A long answer is shown in part: the whole is in the session. */
function showState<State extends SessionState>(
  state: State | Refusal,
  { shownTokens }: ToolContext,
): State | Refusal {
  if (isRefusal(state) || state.lastMessage === null) return state
  const { content } = state.lastMessage
  const unitsMax = shownTokens * 4
  if (content.length <= unitsMax) return state
  const cut = `${content.slice(0, unitsMax).toWellFormed()}…`
  return { ...state, lastMessage: { ...state.lastMessage, content: cut } }
}

const getSessionState = sessionTool({
  name: 'get_session_state',
  description: 'Says whether a session is idle, streaming or in error, and what was said in it last.',
  input: z.strictObject({ sessionId }),
  run: async ({ sessionId: id }, context) => showState(await context.acts.state(id), context),
})

const createAgentSession = sessionTool({
  name: 'create_agent_session',
  calling: true,
  description: (turn) =>
    'Makes a session of an agent in a directory, and gives it a first message if you like. ' +
    'It works on its own; look with get_session_state, wait with wait_for_session. ' +
    whoMayBeCalled(turn),
  input: z.strictObject({
    cwd: z.string().min(1, 'a directory that exists').describe('the directory it works in'),
    initialMessage: Task.optional().describe('what it should begin with'),
    agent: z.string().min(1).optional().describe('which agent; your own definition by default'),
    model: z.string().min(1).optional().describe('provider/model instead of its own'),
  }),
  run: ({ cwd, initialMessage = null, agent = null, model = null }, { acts, stepKey }) =>
    acts.spawn({ cwd, initialMessage, agent, model }, stepKey),
})

const waitForSession = sessionTool({
  name: 'wait_for_session',
  waits: true,
  description:
    'Waits until a session is idle, and returns its state; or the present state when the time is over.',
  input: z.strictObject({ sessionId, timeout_seconds: WaitSeconds }),
  async run({ sessionId: id, timeout_seconds: seconds }, context) {
    const state = showState(await context.acts.waitForSession(id, toWaitMs(seconds)), context)
    if (isRefusal(state)) return state
    const { ring, ...shownState } = state
    const again = `Still at work. Call wait_for_session with sessionId "${id}" again.`
    const next = ring !== undefined ? describeRing(ring) : state.isActive ? again : null
    return { ...shownState, next }
  },
})

export const sessionTools: readonly Tool[] = [
  sendAgentMessage,
  getSessionState,
  createAgentSession,
  waitForSession,
  listSession,
]
