/**
 * Turns that the server gives to sessions of opencode: each is a prompt in its session, and what opencode
 * answers to that prompt is the answer. It waits until the session rests, so that nothing of its user's is
 * interrupted; and the sender of the message gets the answer as a reply, unless it was one itself.
 */
import type { HostTurn } from '../../client/host.ts'
import type { Surroundings } from '../../client/surroundings.ts'
import { agentIn, answerTo, type Answer } from './conversation.ts'
import {
  answered,
  type OpencodeClient,
  type OpencodeEvent,
  type OpencodePart,
  type OpencodeSession,
  type Prompt,
} from './opencode-api.ts'

export type DeliveredTurnsDeps = {
  opencode: OpencodeClient
  surroundings: Surroundings
  report(text: string): void
}

/** `asked` is opencode's id of the prompt, once it has one. */
type Live = {
  turn: HostTurn
  asked: string | null
  /** Assistant messages that answer it. */
  answers: Set<string>
  replied: boolean
}

const lookAgainMs = 500
const generationsMax = 20

export class DeliveredTurns {
  readonly #deps: DeliveredTurnsDeps
  /** By session of opencode: the server gives one at a time. */
  readonly #live = new Map<string, Live>()
  readonly #resting = new Set<() => void>()

  constructor(deps: DeliveredTurnsDeps) {
    this.#deps = deps
  }

  async run(turn: HostTurn): Promise<Answer> {
    const live: Live = { turn, asked: null, answers: new Set(), replied: false }
    this.#live.set(turn.id, live)
    try {
      await this.#untilResting(turn)
      const answer = await this.#prompt(live)
      await this.#reply(live, answer)
      return answer
    } finally {
      if (this.#live.get(turn.id) === live) this.#live.delete(turn.id)
    }
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
    if (type === 'session.idle' || type === 'session.status') {
      for (const wake of this.#resting) wake()
      this.#resting.clear()
    }
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

  async #untilResting({ id, signal }: HostTurn): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const { promise: news, resolve: wake } = Promise.withResolvers<void>()
      this.#resting.add(wake)
      const status = await answered(this.#deps.opencode.session.status(), 'say what it does')
      if (status[id] === undefined || status[id].type === 'idle') return
      await Promise.race([news, this.#deps.surroundings.sleep(lookAgainMs, signal)])
    }
  }

  async #prompt(live: Live): Promise<Answer> {
    const { turn } = live
    const { session } = this.#deps.opencode
    const at = { path: { id: turn.id } }
    const stop = (): void =>
      void session.abort(at).catch((error: unknown) => this.#deps.report(String(error)))
    const known = await answered(session.get(at), `find session ${turn.id}`)
    const agent = known.agent ?? agentIn(await answered(session.messages(at), 'show a conversation'))
    turn.signal.throwIfAborted()
    turn.signal.addEventListener('abort', stop, { once: true })
    try {
      await answered(session.prompt({ ...at, body: makePrompt(turn, known, agent) }), 'take the message')
    } finally {
      turn.signal.removeEventListener('abort', stop)
    }
    turn.signal.throwIfAborted()
    if (live.asked === null) throw new Error('opencode took the message and did not say as which')
    return answerTo(await answered(session.messages(at), 'show a conversation'), live.asked)
  }

  async #reply({ turn, replied }: Live, { output }: Answer): Promise<void> {
    if (turn.messageId === null || turn.from === null || turn.inReplyTo !== null || replied || output === '')
      return
    const { ok, value } = await turn.tool('send-message', { message: output, reply: [turn.messageId] })
    if (!ok) this.#deps.report(`the reply to ${turn.messageId} was not sent: ${JSON.stringify(value)}`)
  }
}

/** With the agent and the model that the session works with: a message must not move it to another. */
function makePrompt(turn: HostTurn, { model }: OpencodeSession, agent: string | undefined): Prompt {
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined
      ? {}
      : {
          model: { providerID: model.providerID, modelID: model.id },
          ...(model.variant === undefined || model.variant === 'default' ? {} : { variant: model.variant }),
        }),
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
