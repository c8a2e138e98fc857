/**
 * LangGraph with its SQLite saver: two prebuilt agents, the second one as a tool of the first, each run in a thread
 * of its own, every step checkpointed. The saver works on `node:sqlite` (WAL, FULL) through the few functions of
 * better-sqlite3 that it calls, so that nothing has to be compiled and both write with the same engine.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { langgraphDirectory } from '../install-langgraph.ts'
import {
  coderPrompt,
  createScratch,
  createTexts,
  expectAnswer,
  fileName,
  nextUserTask,
  plannerPrompt,
  readTool,
  type Contender,
  type Role,
} from '../work.ts'

export type Message = { content: unknown; getType(): string }
type Agent = {
  invoke(input: { messages: unknown[] } | null, config?: unknown): Promise<{ messages: Message[] }>
}
export type Parts = {
  AIMessage: new (fields: Record<string, unknown>) => Message
  BaseChatModel: abstract new (fields: object) => object
  tool(run: (input: never, config: unknown) => unknown, about: Record<string, unknown>): unknown
  createReactAgent(options: Record<string, unknown>): Agent
  SqliteSaver: new (db: unknown) => unknown
}

export async function loadParts(): Promise<Parts> {
  const require = createRequire(join(langgraphDirectory, 'package.json'))
  const names = [
    '@langchain/core/messages',
    '@langchain/core/language_models/chat_models',
    '@langchain/core/tools',
    '@langchain/langgraph/prebuilt',
    '@langchain/langgraph-checkpoint-sqlite',
  ]
  const modules = await Promise.all(names.map((name) => import(pathToFileURL(require.resolve(name)).href)))
  return Object.assign({}, ...modules) as Parts
}

/** The same answers as `createInstantModel`, in the shape of this library. */
function createChatModel({ AIMessage, BaseChatModel }: Parts, role: Role): object {
  const texts = createTexts(role)
  const call = (): object =>
    role === 'planner'
      ? { name: 'sub_agent', args: { agent_name: 'coder', task: texts.task() } }
      : { name: readTool.name, args: { path: fileName } }
  class InstantChat extends BaseChatModel {
    _llmType(): string {
      return 'instant'
    }
    bindTools(): this {
      return this
    }
    async _generate(messages: readonly Message[]): Promise<object> {
      const message =
        messages.at(-1)?.getType() === 'tool'
          ? new AIMessage({ content: texts.final() })
          : new AIMessage({ content: '', tool_calls: [{ ...call(), id: `id-${role}`, type: 'tool_call' }] })
      return { generations: [{ text: String(message.content), message }] }
    }
  }
  return new InstantChat({})
}

/** What the saver calls of better-sqlite3. */
export function openLikeBetterSqlite(file: string): { db: object; commits: () => number; close: () => void } {
  const database = new DatabaseSync(file)
  let commits = 0
  const counted = <T>(value: T): T => {
    if (!database.isTransaction) commits += 1
    return value
  }
  const db = {
    pragma: (text: string) => database.exec(`pragma ${text}; pragma synchronous = full`),
    exec: (sql: string) => database.exec(sql),
    prepare(sql: string) {
      const statement = database.prepare(sql)
      return {
        get: (...given: SQLInputValue[]) => statement.get(...given),
        all: (...given: SQLInputValue[]) => statement.all(...given),
        run: (...given: SQLInputValue[]) => counted(statement.run(...given.map((one) => one ?? null))),
      }
    },
    transaction:
      (work: (...given: unknown[]) => unknown) =>
      (...given: unknown[]): unknown => {
        database.exec('begin')
        try {
          const value = work(...given)
          database.exec('commit')
          return counted(value)
        } catch (fault) {
          database.exec('rollback')
          throw fault
        }
      },
  }
  return { db, commits: () => commits, close: () => database.close() }
}

export async function start(): Promise<Contender> {
  const { workspace, data, remove } = createScratch()
  const parts = await loadParts()
  const { db, commits, close } = openLikeBetterSqlite(join(data, 'checkpoints.db'))
  const read = parts.tool(({ path }: { path: string }) => readTool.run(workspace, path), {
    name: readTool.name,
    description: readTool.description,
    schema: z.object({ path: z.string() }),
  })
  const coder = parts.createReactAgent({
    llm: createChatModel(parts, 'coder'),
    tools: [read],
    prompt: coderPrompt,
  })
  const subAgent = parts.tool(
    async ({ task }: { task: string }, config) => {
      const { messages } = await coder.invoke({ messages: [{ role: 'user', content: task }] }, config)
      return messages.at(-1)?.content
    },
    {
      name: 'sub_agent',
      description: 'Calls another agent and waits for its result.',
      schema: z.object({ agent_name: z.string(), task: z.string() }),
    },
  )
  const planner = parts.createReactAgent({
    llm: createChatModel(parts, 'planner'),
    tools: [subAgent],
    prompt: plannerPrompt,
    checkpointSaver: new parts.SqliteSaver(db),
  })
  let threads = 0
  return {
    async one() {
      const config = { configurable: { thread_id: `thread-${(threads += 1)}` } }
      const { messages } = await planner.invoke(
        { messages: [{ role: 'user', content: nextUserTask() }] },
        config,
      )
      expectAnswer(messages.at(-1)?.content, 'LangGraph')
    },
    commits,
    async close() {
      close()
      remove()
    },
  }
}
