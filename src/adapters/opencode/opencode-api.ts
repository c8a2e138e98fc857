/**
 * As much of opencode's plugin interface as is used here, written down by hand: nothing of opencode's own
 * packages is imported, so that it has nothing to download.
 */

export type OpencodeSession = {
  id: string
  title: string
  directory: string
  parentID?: string
  /** Of the last prompt; absent before the first. */
  agent?: string
  model?: { id: string; providerID: string; variant?: string }
  metadata?: Record<string, unknown>
  time: { created: number; updated: number; archived?: number }
}

export type OpencodePart = {
  id: string
  type: string
  text?: string
  /** Written by opencode itself. */
  synthetic?: boolean
  ignored?: boolean
  tool?: string
  callID?: string
  sessionID?: string
  state?: {
    status: string
    input?: unknown
    output?: string
    error?: string
    time?: { start?: number; end?: number }
  }
  metadata?: Record<string, unknown>
}

export type OpencodeMessage = {
  info: {
    id: string
    role: 'user' | 'assistant'
    sessionID: string
    /** The user's message that an assistant's answers. */
    parentID?: string
    agent?: string
    finish?: string
    error?: { name: string; data?: { message?: string } }
    cost?: number
    tokens?: { input: number; output: number; reasoning: number; cache: { read: number; write: number } }
  }
  parts: OpencodePart[]
}

export type Answered<T> = Promise<{ data?: T | undefined; error?: unknown }>
export type At = { path: { id: string } }

export type OpencodeClient = {
  session: {
    list(): Answered<OpencodeSession[]>
    get(ask: At): Answered<OpencodeSession>
    create(ask: { body: { title?: string } }): Answered<OpencodeSession>
    update(
      ask: At & { body: { title?: string; metadata?: Record<string, unknown> } },
    ): Answered<OpencodeSession>
    fork(ask: At & { body: { messageID?: string } }): Answered<OpencodeSession>
    delete(ask: At): Answered<boolean>
    /** Sessions that rest are absent. */
    status(): Answered<Record<string, { type: string }>>
    messages(ask: At): Answered<OpencodeMessage[]>
    message(ask: { path: { id: string; messageID: string } }): Answered<OpencodeMessage>
    /** Returns when the session rests again. */
    prompt(ask: At & { body: Prompt }): Answered<OpencodeMessage>
    abort(ask: At): Answered<boolean>
  }
  app: {
    log(ask: {
      body: { service: string; level: 'debug' | 'info' | 'warn' | 'error'; message: string }
    }): Answered<boolean>
  }
  tui: {
    showToast(ask: {
      body: { title?: string; message: string; variant: 'info' | 'success' | 'warning' | 'error' }
    }): Answered<boolean>
  }
}

export type Prompt = {
  agent?: string
  model?: { providerID: string; modelID: string }
  variant?: string
  system?: string
  /** What is not allowed is not offered. */
  tools?: Record<string, boolean>
  parts: { type: 'text'; text: string; metadata?: Record<string, unknown> }[]
}

export type OpencodeEvent = { type: string; properties: Record<string, unknown> }

export type ToolUseContext = { sessionID: string; messageID: string; callID?: string; abort: AbortSignal }

export type OpencodeTool = {
  description: string
  /** JSON Schema of each argument. */
  args: Record<string, unknown>
  execute(
    args: Record<string, unknown>,
    context: ToolUseContext,
  ): Promise<{ title: string; output: string; metadata: Record<string, unknown> }>
}

export type Hooks = {
  tool: Record<string, OpencodeTool>
  dispose(): Promise<void>
  event(input: { event: OpencodeEvent }): Promise<void>
  'chat.message'(
    input: { sessionID: string },
    output: { message: { id: string }; parts: OpencodePart[] },
  ): Promise<void>
  'tool.definition'(
    input: { toolID: string },
    output: { description: string; jsonSchema?: unknown },
  ): Promise<void>
  'tool.execute.before'(
    input: { tool: string; sessionID: string; callID: string },
    output: { args: unknown },
  ): Promise<void>
  'tool.execute.after'(
    input: { tool: string; sessionID: string; callID: string },
    output: { output: string },
  ): Promise<void>
  'experimental.chat.system.transform'(
    input: { sessionID?: string },
    output: { system: string[] },
  ): Promise<void>
}

export type PluginInput = { client: OpencodeClient; directory: string }

/** What opencode answered; a no of its is thrown. */
export async function answered<T>(asked: Answered<T>, what: string): Promise<T> {
  const { data, error } = await asked
  if (data === undefined || error !== undefined)
    throw new Error(`opencode did not ${what}: ${describeError(error)}`)
  return data
}

function describeError(error: unknown): string {
  if (error === undefined) return 'no answer'
  const data = (error as { data?: { message?: unknown } }).data
  return typeof data?.message === 'string'
    ? data.message
    : error instanceof Error
      ? error.message
      : JSON.stringify(error)
}
