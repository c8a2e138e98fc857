/** The same with mail. */
import type { Event } from '../../src/model/event.ts'
import type { SessionId, TurnId } from '../../src/model/id.ts'
import { mailed } from './store.ts'
import { CallWorld } from './call-world.ts'

export class World extends CallWorld {
  readonly letters: {
    id: string
    owner: SessionId
    to: SessionId
    state: 'draft' | 'waiting' | 'delivered' | 'over'
  }[] = []

  /** The events of one transaction, or none where this act is not possible now. */
  act(kind: number): Event[] {
    const acts = [...this.acts(), this.draft, this.mail, this.accept, this.endMail]
    return acts[kind % acts.length]?.() ?? []
  }

  protected draft = (): Event[] => {
    const owner = this.one(this.sessions)
    const receiver = this.one(this.sessions)
    if (owner === undefined || receiver === undefined) return []
    const known =
      this.pick(2) === 0 ? undefined : this.one(this.letters.filter(({ state }) => state === 'draft'))
    const target =
      this.pick(3) === 0 ? ({ kind: 'new' } as const) : ({ kind: 'session', session: receiver.id } as const)
    if (known !== undefined)
      return [
        {
          type: 'message.revised',
          session: known.owner,
          turn: null,
          message: known.id,
          target,
          inReplyTo: null,
          text: `text ${this.fresh()}`,
          how: 'written',
          instructions: null,
          note: null,
          act: null,
        },
      ]
    const message = `msg_d${this.fresh()}`
    this.letters.push({ id: message, owner: owner.id, to: receiver.id, state: 'draft' })
    return [
      {
        type: 'message.drafted',
        session: owner.id,
        turn: null,
        message,
        target,
        source: 'agent',
        inReplyTo: null,
        text: 'first',
        act: this.pick(2) === 0 ? null : `act-${message}`,
      },
    ]
  }

  /** A draft is sent, or a message without one; some answer another. */
  protected mail = (): Event[] => {
    const from = this.one(this.sessions)
    const known =
      this.pick(2) === 0 ? undefined : this.one(this.letters.filter(({ state }) => state === 'draft'))
    const to = known === undefined ? this.one(this.sessions)?.id : known.to
    if (from === undefined || to === undefined) return []
    const answered =
      this.pick(3) === 0 ? this.one(this.letters.filter(({ state }) => state === 'delivered')) : undefined
    const letter = known ?? { id: `m${this.fresh()}`, owner: from.id, to, state: 'waiting' as const }
    if (known === undefined) this.letters.push(letter)
    letter.state = 'waiting'
    return [
      mailed(letter.owner, to, letter.id, { inReplyTo: answered?.id ?? null }),
      ...(answered === undefined
        ? []
        : [
            {
              type: 'message.answered' as const,
              session: answered.to,
              turn: null,
              message: answered.id,
              reply: letter.id,
              from: answered.owner,
            },
          ]),
    ]
  }

  protected accept = (): Event[] => {
    const letter = this.one(this.letters.filter(({ state }) => state === 'waiting'))
    if (letter === undefined) return []
    letter.state = 'delivered'
    const opens = this.sessions.find(({ id }) => id === letter.to)?.persistent === true && this.pick(2) === 0
    const turn: TurnId | null = opens ? `turn_${letter.id.replace('msg_', '')}` : null
    if (turn !== null)
      this.turns.push({
        id: turn,
        session: letter.to,
        state: 'queued',
        caller: null,
        pending: false,
        stopping: false,
        used: 0,
        held: 0,
      })
    const by = this.pick(2) === 0 ? null : letter.to
    return [
      {
        type: 'message.accepted',
        session: letter.to,
        turn: null,
        message: letter.id,
        by,
        act: this.pick(2) === 0 ? null : `take-${letter.id}`,
        from: letter.owner,
      },
      { ...mailed(letter.owner, letter.to, letter.id), type: 'message.delivered', turn, opens },
    ]
  }

  protected endMail = (): Event[] => {
    const letter = this.one(this.letters.filter(({ state }) => state === 'waiting'))
    if (letter === undefined) return []
    letter.state = 'over'
    const place = { session: letter.to, turn: null, message: letter.id, from: letter.owner }
    return this.pick(2) === 0
      ? [{ type: 'message.declined', ...place, by: null }]
      : [{ type: 'message.died', ...place, cause: 'gone' }]
  }
}
