/** LangGraph with its SQLite saver, each agent as a tool of the other. See `contenders/langgraph.ts`. */
import { join } from 'node:path'
import { z } from 'zod'
import { loadParts, openLikeBetterSqlite, type Message, type Parts } from '../contenders/langgraph.ts'
import { coderPrompt, plannerPrompt, type Role } from '../work.ts'
import { decideMove, hang, limitMs, report, type Probe } from './moves.ts'

function createModel({ AIMessage, BaseChatModel }: Parts, probe: Probe, role: Role): object {
  class ProbeChat extends BaseChatModel {
    _llmType(): string {
      return 'probe'
    }
    bindTools(): this {
      return this
    }
    async _generate(messages: readonly Message[], options: { signal?: AbortSignal }): Promise<object> {
      const last = messages.at(-1)
      const move = decideMove(probe, role, last?.getType() === 'tool' ? String(last.content) : null)
      if (move.kind === 'hang') return hang(options.signal)
      const call = { name: 'sub_agent', id: `id-${role}`, type: 'tool_call' }
      const message =
        move.kind === 'text'
          ? new AIMessage({ content: move.text })
          : new AIMessage({
              content: '',
              tool_calls: [{ ...call, args: { agent_name: move.to, task: move.task } }],
            })
      return { generations: [{ text: String(message.content), message }] }
    }
  }
  return new ProbeChat({})
}

export async function run(probe: Probe): Promise<void> {
  const parts = await loadParts()
  const { db, close } = openLikeBetterSqlite(join(probe.data, 'checkpoints.db'))
  const create = (role: Role, saver: object) =>
    parts.createReactAgent({
      llm: createModel(parts, probe, role),
      tools: [subAgent],
      prompt: role === 'planner' ? plannerPrompt : coderPrompt,
      ...saver,
    })
  const subAgent: unknown = parts.tool(
    async ({ agent_name: name, task }: { agent_name: Role; task: string }, config) => {
      const limited = probe.name === 'limited' ? { ...(config as object), timeout: limitMs } : config
      const input = { messages: [{ role: 'user', content: task }] }
      const { messages } = await create(name, {}).invoke(input, limited)
      return messages.at(-1)?.content
    },
    {
      name: 'sub_agent',
      description: 'Calls another agent and waits for its result.',
      schema: z.object({ agent_name: z.string(), task: z.string() }),
    },
  )
  const planner = create('planner', { checkpointSaver: new parts.SqliteSaver(db) })
  const config = { configurable: { thread_id: 'thread-1' } }
  // In its second life it is asked to go on with the thread, as its documentation says.
  const input =
    probe.life === 2 ? null : { messages: [{ role: 'user', content: 'Find out which port it is.' }] }
  const { messages } = await planner.invoke(input, config)
  report({ answer: String(messages.at(-1)?.content) })
  close()
}
