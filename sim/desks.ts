/** The desks of a node, and the agents that are made there. */
import { Agent } from '../src/model/agent.ts'
import { openDesks, type Desks } from '../src/runtime/desk/desk.ts'
import type { Driver } from '../src/runtime/kernel/ports.ts'
import type { Node } from '../src/runtime/node.ts'
import { agentBook, type AgentBook } from '../src/runtime/sessions/agent-book.ts'
import type { SqliteStore } from '../src/store/sqlite.ts'
import { buffer } from '../src/tools/buffer.ts'
import { sendMessage } from '../src/tools/send-message.ts'
import { agentNames, agents } from './agents.ts'

/** Every node has a driver of its own, and asks it instead of the book. */
const nobody: Driver = {
  run: () => Promise.reject(new Error('a node runs its turns with its own driver')),
}

/** One for all nodes, as long as the store has one process. */
export function makeBook(store: SqliteStore): AgentBook {
  const book = agentBook(
    { get: (name) => agents.get(name), names: () => agentNames, driver: () => nobody },
    {
      define: (name, { title, prompt, tools }) => Agent.parse({ name, title, prompt, tools, driver: 'sim' }),
      driver: () => nobody,
      isThere: () => true,
    },
  )
  followAgents(store, book)
  return book
}

/** As a process does that starts: it reads what is there, and follows what is appended. */
export function followAgents(store: SqliteStore, book: AgentBook): void {
  void book.load(store.lists)
  store.onHint((hints) => hints.forEach((hint) => book.apply(hint)))
}

export const openNodeDesks = ({ runtime }: Node, book: AgentBook): Desks =>
  openDesks({
    exportLog: () => Promise.reject(new Error('nothing is exported here')),
    runtime,
    book,
    toolNames: ['note'],
    providers: [],
    builtIn: [],
    doorTools: [sendMessage, buffer],
    cwd: '/',
  })
