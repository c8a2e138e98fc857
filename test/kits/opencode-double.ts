/**
 * opencode in memory, as far as a plugin sees it: sessions, prompts that join a loop that runs, events and
 * hooks. What the model says is the test's.
 */
import type {
  Hooks,
  OpencodeClient,
  OpencodeMessage,
  OpencodeSession,
  Prompt,
} from '../../src/adapters/opencode/opencode-api.ts'

/** Aborts with the session's loop. */
export type Say = (asked: {
  session: string
  message: string
  text: string
  signal: AbortSignal
}) => Promise<string>

export type MemoryOpencode = {
  client: OpencodeClient
  hooks: Partial<Hooks>
  /** What was logged. */
  said: string[]
  prompts: Prompt[]
  aborted: string[]
  add(session: Partial<OpencodeSession> & { id: string }): OpencodeSession
  texts(session: string): string[]
  /** A user types. */
  type(session: string, text: string): Promise<unknown>
}

export function memoryOpencode(directory: string, say: Say): MemoryOpencode {
  const sessions = new Map<string, OpencodeSession>()
  const messages = new Map<string, OpencodeMessage[]>()
  const loops = new Map<string, { done: Promise<void>; abort: AbortController }>()
  let count = 0
  const next = (kind: string): string => `${kind}_${String((count += 1)).padStart(4, '0')}`
  const tell = (type: string, properties: Record<string, unknown>): void =>
    void memory.hooks.event?.({ event: { type, properties } })
  const of = (id: string): OpencodeMessage[] => messages.get(id) ?? []

  function add(given: Partial<OpencodeSession> & { id: string }): OpencodeSession {
    const session: OpencodeSession = {
      title: '',
      directory,
      time: { created: count, updated: (count += 1) },
      ...given,
    }
    sessions.set(session.id, session)
    if (!messages.has(session.id)) messages.set(session.id, [])
    tell('session.created', { info: session })
    return session
  }

  async function answer(id: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      const asked = of(id).findLast(({ info }) => info.role === 'user')
      if (asked === undefined || of(id).some(({ info }) => info.parentID === asked.info.id)) return
      const info: OpencodeMessage['info'] = {
        id: next('msg'),
        role: 'assistant',
        sessionID: id,
        parentID: asked.info.id,
      }
      const message: OpencodeMessage = { info, parts: [] }
      of(id).push(message)
      tell('message.updated', { info })
      const text = await say({
        session: id,
        message: info.id,
        text: asked.parts[0]?.text ?? '',
        signal,
      }).catch((error: unknown) => {
        info.error = {
          name: signal.aborted ? 'MessageAbortedError' : 'UnknownError',
          data: { message: String(error) },
        }
        return ''
      })
      // What came meanwhile is answered next, all of it at once: the loop goes on with the newest.
      Object.assign(info, {
        finish: 'stop',
        tokens: { input: 3, output: 2, reasoning: 0, cache: { read: 0, write: 0 } },
      })
      message.parts.push({ id: next('prt'), type: 'text', text })
    }
  }

  async function prompt(id: string, body: Prompt): Promise<OpencodeMessage | undefined> {
    const session = sessions.get(id)
    if (session === undefined) return undefined
    const info: OpencodeMessage['info'] = {
      id: next('msg'),
      role: 'user',
      sessionID: id,
      agent: body.agent ?? 'build',
    }
    session.agent = info.agent ?? 'build'
    const parts = body.parts.map((part) => ({ id: next('prt'), ...part }))
    await memory.hooks['chat.message']?.({ sessionID: id }, { message: info, parts })
    of(id).push({ info, parts })
    if (!loops.has(id)) {
      const abort = new AbortController()
      const done = answer(id, abort.signal).finally(() => {
        loops.delete(id)
        tell('session.idle', { sessionID: id })
      })
      loops.set(id, { done, abort })
    }
    await loops.get(id)?.done
    return of(id).at(-1)
  }

  const memory: MemoryOpencode = {
    hooks: {},
    said: [],
    prompts: [],
    aborted: [],
    add,
    client: {
      session: {
        list: async () => ({ data: [...sessions.values()] }),
        get: async ({ path }) => ({ data: sessions.get(path.id) }),
        create: async ({ body }) => ({ data: add({ id: next('ses'), ...body }) }),
        update: async ({ path, body }) => ({
          data: Object.assign(sessions.get(path.id) ?? {}, body) as OpencodeSession,
        }),
        async fork({ path, body }) {
          const from = of(path.id)
          const end = from.findIndex(({ info }) => info.id === body.messageID)
          const made = add({
            id: next('ses'),
            metadata: structuredClone(sessions.get(path.id)?.metadata ?? {}),
          })
          messages.set(made.id, from.slice(0, end < 0 ? from.length : end))
          return { data: made }
        },
        delete: async ({ path }) => ({ data: sessions.delete(path.id) }),
        status: async () => ({
          data: Object.fromEntries([...loops.keys()].map((id) => [id, { type: 'busy' }])),
        }),
        messages: async ({ path }) => ({ data: of(path.id) }),
        message: async ({ path }) => ({ data: of(path.id).find(({ info }) => info.id === path.messageID) }),
        async prompt({ path, body }) {
          memory.prompts.push(body)
          return { data: await prompt(path.id, body) }
        },
        async abort({ path }) {
          memory.aborted.push(path.id)
          loops.get(path.id)?.abort.abort(new Error('aborted'))
          return { data: true }
        },
      },
      app: { log: async ({ body }) => ({ data: memory.said.push(body.message) > 0 }) },
      tui: { showToast: async () => ({ data: true }) },
    },
    texts: (id) => of(id).map(({ info, parts }) => `${info.role}: ${parts[0]?.text ?? ''}`),
    type: (id, text) => prompt(id, { parts: [{ type: 'text', text }] }),
  }
  return memory
}
