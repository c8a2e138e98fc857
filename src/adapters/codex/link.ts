/**
 * Codex's open sessions. Its terminals run their threads in a daemon of the user's; we join it as one more client,
 * register the threads that are loaded there, and tell them of their mail: with a turn where one rests, and into the
 * running turn where it works. Where there is no daemon, nothing is done but to look for one now and then.
 */
import { isRecord, textAt, type Json } from '../../model/json.ts'
import { isRefusal } from '../../model/refusal.ts'
import type { Desks } from '../../runtime/desk/desk.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import type { News } from '../../runtime/mail/await-news.ts'
import { connectCodex, findCodexSocket, type CodexRpc } from './rpc.ts'

/** As it names itself over MCP, so that both doors mean one session. */
export const codexProgram = 'codex-mcp-client'

const lookEveryMs = 3000
const awaitMs = 240_000
/** R11 */
const threadsMax = 200

export type CodexLinkDeps = {
  desks: Desks
  clock: Clock
  codexHome: string
  /** Of the user whom the server runs as. */
  uid: number
  version: string
  report: (fault: unknown) => void
}

type Thread = {
  id: string
  client: { name: string; session: string; cwd: string }
  /** The turn that runs, where it is known. */
  turn: string | null
  over: AbortController
}

export function codexLink(deps: CodexLinkDeps): { close(): void } {
  const closing = new AbortController()
  void lookForever(deps, closing.signal).catch(deps.report)
  return { close: () => closing.abort() }
}

async function lookForever(deps: CodexLinkDeps, signal: AbortSignal): Promise<void> {
  const { clock, codexHome, uid } = deps
  while (!signal.aborted) {
    const path = await findCodexSocket(codexHome, uid)
    if (path !== null) await stay(deps, path, signal).catch(() => undefined) // It has gone: looked for again.
    await clock.sleep(lookEveryMs, signal).catch(() => undefined)
  }
}

/** As long as the daemon is there. */
async function stay(deps: CodexLinkDeps, path: string, signal: AbortSignal): Promise<void> {
  const threads = new Map<string, Thread>()
  const rpc = await connectCodex(
    path,
    (ms, until) => deps.clock.sleep(ms, until),
    (method, params) => notice(deps, threads, method, params),
  )
  const leave = (): void => rpc.close()
  signal.addEventListener('abort', leave, { once: true })
  /** Those that are no conversation, such as one that finds a title. */
  const aside = new Set<string>()
  try {
    await rpc.ask('initialize', { clientInfo: { name: 'tieline', title: 'Tieline', version: deps.version } })
    rpc.notify('initialized')
    let isOver = false
    void rpc.closed.then(() => (isOver = true))
    while (!isOver && !signal.aborted) {
      await look(deps, rpc, threads, aside)
      await Promise.race([rpc.closed, deps.clock.sleep(lookEveryMs, signal).catch(() => undefined)])
    }
  } finally {
    signal.removeEventListener('abort', leave)
    for (const { over } of threads.values()) over.abort()
    rpc.close()
  }
}

async function look(
  deps: CodexLinkDeps,
  rpc: CodexRpc,
  threads: Map<string, Thread>,
  aside: Set<string>,
): Promise<void> {
  const answer = await rpc.ask('thread/loaded/list', {})
  const listed = isRecord(answer) && Array.isArray(answer['data']) ? answer['data'] : []
  const loaded = listed.filter((id) => typeof id === 'string').slice(0, threadsMax)
  for (const id of loaded)
    if (!threads.has(id) && !aside.has(id)) {
      // One that has not been asked anything yet cannot be joined: it is tried again with the next look.
      const thread = await join(deps, rpc, id).catch(() => undefined)
      if (thread === null) aside.add(id)
      else if (thread !== undefined) {
        threads.set(id, thread)
        void tellForever(deps, rpc, thread).catch(deps.report)
      }
    }
  for (const [id, thread] of threads)
    if (!loaded.includes(id)) {
      threads.delete(id)
      thread.over.abort()
      await deps.desks.as({}).programs.close(thread.client, 'Codex has closed it')
    }
}

/** Subscribes to a thread, and registers its session. */
async function join({ desks }: CodexLinkDeps, rpc: CodexRpc, id: string): Promise<Thread | null> {
  const answer = await rpc.ask('thread/resume', { threadId: id, excludeTurns: true })
  const thread = isRecord(answer) ? answer['thread'] : null
  const cwd = textAt(thread, 'cwd')
  if (!isRecord(thread) || thread['ephemeral'] === true || cwd === '') return null
  const client = { name: codexProgram, session: id, cwd }
  const state = textAt(thread['status'], 'type') === 'active' ? 'working' : 'idle'
  const title = textAt(thread, 'name') || textAt(thread, 'preview')
  const heard = await desks.as({}).programs.hear(client, state, title)
  return isRefusal(heard) ? null : { id, client, turn: null, over: new AbortController() }
}

function notice(
  { desks, report }: CodexLinkDeps,
  threads: ReadonlyMap<string, Thread>,
  method: string,
  params: Json,
): void {
  const thread = threads.get(textAt(params, 'threadId'))
  if (thread === undefined || (method !== 'turn/started' && method !== 'turn/completed')) return
  const works = method === 'turn/started'
  thread.turn = works && isRecord(params) ? textAt(params['turn'], 'id') || null : null
  void desks
    .as({})
    .programs.hear(thread.client, works ? 'working' : 'idle', '')
    .catch(report)
}

/**
 * One after the other: what waits, as long as the thread is loaded. What Codex does not take was announced all the
 * same, and is not said twice: it waits in the inbox. A turn that was not started leaves the thread at rest.
 */
async function tellForever({ desks, report }: CodexLinkDeps, rpc: CodexRpc, thread: Thread): Promise<void> {
  const { signal } = thread.over
  const { programs } = desks.as({ signal })
  while (!signal.aborted) {
    const news = await programs.await(thread.client, { ms: awaitMs, busy: true })
    if (isRefusal(news) || news.status === 'replaced') return
    if (news.status !== 'told') continue
    try {
      await tell(rpc, thread, news)
    } catch (fault) {
      report(fault)
      if (news.woken) await programs.hear(thread.client, 'idle', '')
    }
  }
}

/** What cannot be said into a turn, which has just ended, is put before the next one. */
async function tell(rpc: CodexRpc, thread: Thread, { text, woken }: News): Promise<void> {
  const input = [{ type: 'text', text, text_elements: [] }]
  const { id: threadId, turn } = thread
  if (woken) return void (await rpc.ask('turn/start', { threadId, input }))
  const steered =
    turn !== null &&
    (await rpc.ask('turn/steer', { threadId, expectedTurnId: turn, input }).then(
      () => true,
      () => false,
    ))
  if (steered) return
  const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
  await rpc.ask('thread/inject_items', { threadId, items: [item] })
}
