/**
 * Records at the server what opencode does with its tools. The beginning is recorded first: after a crash in
 * the middle of a tool, opencode never reports its end.
 */
import { surroundings } from '../../client/surroundings.ts'
import { faultMessage } from '../../model/contained.ts'
import type { Json } from '../../model/json.ts'
import type { NewTrace } from '../../wire/tools.ts'
import type { KnownSessions } from './known-sessions.ts'
import type { OpencodeEvent, OpencodePart } from './opencode-api.ts'

export type ToolTracingDeps = { sessions: Pick<KnownSessions, 'taken'>; report(text: string): void }

const charsMax = 8000
const openMax = 1000

export class ToolTracing {
  readonly #deps: ToolTracingDeps
  readonly #open = new Map<string, { key: string; tool: string; input: Json }>()
  /** One after the other, so that a beginning comes before its end; nobody waits for it. */
  #last: Promise<void> = Promise.resolve()

  constructor(deps: ToolTracingDeps) {
    this.#deps = deps
  }

  begun(sessionID: string, callID: string, tool: string, args: unknown): void {
    if (this.#open.size >= openMax) this.#open.clear()
    // Ids of uses are the provider's, and not every provider draws new ones.
    const use = { key: `${callID}-${surroundings.draw().slice(0, 8)}`, tool, input: cut(args) }
    this.#open.set(`${sessionID} ${callID}`, use)
    this.#write(sessionID, { ...use, ended: null })
  }

  handle({ type, properties }: OpencodeEvent): void {
    const part = type === 'message.part.updated' ? (properties['part'] as OpencodePart) : null
    if (
      part?.type !== 'tool' ||
      part.callID === undefined ||
      part.sessionID === undefined ||
      (part.state?.status !== 'completed' && part.state?.status !== 'error')
    )
      return
    const place = `${part.sessionID} ${part.callID}`
    const use = this.#open.get(place)
    if (use === undefined) return
    this.#open.delete(place)
    const { status, output, error, time } = part.state
    const ok = status === 'completed'
    this.#write(part.sessionID, {
      ...use,
      ended: { ok, output: cut(ok ? output : error), startedAt: Math.floor(time?.start ?? 0) },
    })
  }

  #write(sessionID: string, traced: NewTrace): void {
    this.#last = this.#last
      .then(async () => {
        const { sessionId, client } = await this.#deps.sessions.taken(sessionID)
        await client.tools.trace(sessionId, traced)
      })
      .catch((error: unknown) =>
        this.#deps.report(`the use of ${traced.tool} was not written down: ${faultMessage(error)}`),
      )
  }
}

/** Long values as the beginning of their text. */
function cut(value: unknown): Json {
  if (value === undefined) return null
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text === undefined) return null
  if (text.length > charsMax) return `${text.slice(0, charsMax).toWellFormed()}… (${text.length} characters)`
  return typeof value === 'string' ? value.toWellFormed() : (value as Json)
}
