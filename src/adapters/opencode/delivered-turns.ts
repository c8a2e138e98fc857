/**
 * Turns that the server gives to sessions of opencode: each is a prompt in its session, and what opencode
 * answers to that prompt is the answer. It waits until the session rests, so that nothing of its user's is
 * interrupted; and the sender of the message gets the answer as a reply, unless it was one itself.
 *
 * A server that comes back after a restart gives a turn again that has not ended. It is prompted once: what was
 * begun goes on, here or, after a restart of opencode, in the conversation, where each prompt names its turn.
 */
import { ConnectionClosed, type HostTurn } from '../../client/host.ts'
import type { Surroundings } from '../../client/surroundings.ts'
import { isRecord, type Json } from '../../model/json.ts'
import { agentIn, answerTo, findPrompt, type Answer } from './conversation.ts'
import {
  answered,
  type OpencodeClient,
  type OpencodeEvent,
  type OpencodePart,
  type OpencodeSession,
  type Prompt,
} from './opencode-api.ts'
import type { OwnPrompts } from './own-prompts.ts'

export type DeliveredTurnsDeps = {
  opencode: OpencodeClient
  prompts: OwnPrompts
  surroundings: Surroundings
  report(text: string): void
}

/** `asked` is opencode's id of the prompt, once it has one. */
type Live = {
  /** As it was given last. */
  turn: HostTurn
  asked: string | null
  /** Assistant messages that answer it. */
  answers: Set<string>
  replied: boolean
  cancel: AbortController
  /** Of the one prompt. */
  answer: Promise<Answer>
}

const replyAgainMs = 500
const generationsMax = 20
const begunMax = 100
/** How often a reply is tried while the server is away. */
const replyTriesMax = 40

export class DeliveredTurns {
  readonly #deps: DeliveredTurnsDeps
  /** By session of opencode: the server gives one at a time. */
  readonly #live = new Map<string, Live>()
  /** By turn, also those that have ended: a server may ask for an answer again. */
  readonly #begun = new Map<string, Live>()

  constructor(deps: DeliveredTurnsDeps) {
    this.#deps = deps
  }

  async run(turn: HostTurn): Promise<Answer> {
    const live = this.#begun.get(turn.turn) ?? this.#begin(turn)
    live.turn = turn
    const stop = (): void => {
      // Nobody has cancelled it: the next connection is given it again.
      if (!(turn.signal.reason instanceof ConnectionClosed)) live.cancel.abort(turn.signal.reason)
    }
    turn.signal.addEventListener('abort', stop, { once: true })
    if (turn.signal.aborted) stop()
    try {
      const answer = await live.answer
      await this.#reply(live, answer)
      return answer
    } finally {
      turn.signal.removeEventListener('abort', stop)
    }
  }

  #begin(turn: HostTurn): Live {
    const begun = Promise.withResolvers<Answer>()
    const live: Live = {
      turn,
      asked: null,
      answers: new Set(),
      replied: false,
      cancel: new AbortController(),
      answer: begun.promise,
    }
    this.#live.set(turn.id, live)
    this.#begun.set(turn.turn, live)
    const [oldest] = this.#begun.keys()
    if (this.#begun.size > begunMax && oldest !== undefined) this.#begun.delete(oldest)
    this.#work(live)
      .finally(() => this.#live.get(turn.id) === live && this.#live.delete(turn.id))
      .then(begun.resolve, begun.reject)
    return live
  }

  async #work(live: Live): Promise<Answer> {
    const { id, turn } = live.turn
    const { opencode, prompts } = this.#deps
    const read = () => answered(opencode.session.messages({ path: { id } }), 'show a conversation')
    const before = findPrompt(await read(), turn)
    return prompts.run(id, live.cancel.signal, async () => {
      if (before === null) return this.#prompt(live)
      live.asked = before
      const said = await read()
      if (said.some(({ info }) => info.parentID === before)) return answerTo(said, before)
      throw new Error(
        'opencode was ended while it worked on this; it may have been done, so it is not asked again',
      )
    })
  }

  /** Called for every prompt before opencode works on it; true for one of ours. */
  begun(session: string, message: string, parts: readonly OpencodePart[]): boolean {
    const live = this.#live.get(session)
    const turns = parts.map((part) => (part.metadata?.['tieline'] as { turn?: unknown } | undefined)?.turn)
    if (live === undefined || !turns.includes(live.turn.turn)) return false
    live.asked = message
    return true
  }

  /**
   * The turn in which a tool is used: what a peer asked for has no more authority than the peer, also in
   * sessions that opencode makes for its parts.
   */
  async of({ sessionID, messageID }: { sessionID: string; messageID: string }): Promise<HostTurn | null> {
    const own = this.#live.get(sessionID)
    if (own !== undefined)
      return own.asked !== null && (await this.#answers(own, sessionID, messageID)) ? own.turn : null
    if (this.#live.size === 0) return null
    let at = sessionID
    for (let generation = 0; generation < generationsMax; generation += 1) {
      const { data } = await this.#deps.opencode.session.get({ path: { id: at } })
      if (data?.parentID === undefined) return null
      at = data.parentID
      const above = this.#live.get(at)
      if (above !== undefined) return above.asked === null ? null : above.turn
    }
    return null
  }

  /** Whether the session was given a turn, also one that still waits for its user. */
  has(session: string): boolean {
    return this.#live.has(session)
  }

  /** The model has answered by itself. */
  noteReply(turn: HostTurn): void {
    const live = this.#live.get(turn.id)
    if (live?.turn.turn === turn.turn) live.replied = true
  }

  handle({ type, properties }: OpencodeEvent): void {
    if (this.#live.size === 0) return
    if (type === 'message.updated') {
      const info = properties['info'] as { id: string; role: string; sessionID: string; parentID?: string }
      const live = this.#live.get(info.sessionID)
      if (info.role === 'assistant' && info.parentID !== undefined && info.parentID === live?.asked)
        live.answers.add(info.id)
    }
    if (type === 'message.part.delta' && properties['field'] === 'text') {
      const live = this.#live.get(String(properties['sessionID']))
      if (live?.answers.has(String(properties['messageID'])) === true)
        live.turn.say(String(properties['delta']))
    }
  }

  async #answers(live: Live, id: string, messageID: string): Promise<boolean> {
    if (live.answers.has(messageID)) return true
    const { data } = await this.#deps.opencode.session.message({ path: { id, messageID } })
    return data?.info.parentID === live.asked
  }

  async #prompt(live: Live): Promise<Answer> {
    const { turn, cancel } = live
    const { session } = this.#deps.opencode
    const at = { path: { id: turn.id } }
    const stop = (): void =>
      void session.abort(at).catch((error: unknown) => this.#deps.report(String(error)))
    const known = await answered(session.get(at), `find session ${turn.id}`)
    const agent = known.agent ?? agentIn(await answered(session.messages(at), 'show a conversation'))
    cancel.signal.throwIfAborted()
    cancel.signal.addEventListener('abort', stop, { once: true })
    try {
      await answered(session.prompt({ ...at, body: makePrompt(turn, known, agent) }), 'take the message')
    } finally {
      cancel.signal.removeEventListener('abort', stop)
    }
    cancel.signal.throwIfAborted()
    if (live.asked === null) throw new Error('opencode took the message and did not say as which')
    return answerTo(await answered(session.messages(at), 'show a conversation'), live.asked)
  }

  /** Tried again while the server is away, unless it gives the turn to another connection meanwhile. */
  async #reply(live: Live, { output }: Answer): Promise<void> {
    const { turn } = live
    const { messageId, signal } = turn
    if (messageId === null || turn.from === null || turn.inReplyTo !== null || output === '') return
    for (let tries = 1; !live.replied && live.turn === turn && !signal.aborted; tries += 1) {
      const { ok, value } = await turn.tool('send-message', { message: output, reply: [messageId] })
      if (ok) live.replied = true
      else if (tries === replyTriesMax || codeIn(value) !== 'call_ended')
        return this.#deps.report(`the reply to ${messageId} was not sent: ${JSON.stringify(value)}`)
      else await this.#deps.surroundings.sleep(replyAgainMs, signal).catch(() => undefined)
    }
  }
}

const codeIn = (value: Json): unknown =>
  isRecord(value) && isRecord(value['error']) ? value['error']['code'] : null

/** With the agent and the model that the session works with: a message must not move it to another. */
export const keepModel = (
  { model }: OpencodeSession,
  agent: string | undefined,
): Pick<Prompt, 'agent' | 'model' | 'variant'> => ({
  ...(agent === undefined ? {} : { agent }),
  ...(model === undefined
    ? {}
    : {
        model: { providerID: model.providerID, modelID: model.id },
        ...(model.variant === undefined || model.variant === 'default' ? {} : { variant: model.variant }),
      }),
})

function makePrompt(turn: HostTurn, known: OpencodeSession, agent: string | undefined): Prompt {
  return {
    ...keepModel(known, agent),
    ...(turn.system === '' ? {} : { system: turn.system }),
    parts: [
      {
        type: 'text',
        text: turn.prompt,
        metadata: { tieline: { turn: turn.turn, message: turn.messageId, from: turn.from } },
      },
    ],
  }
}
