/** What each client did and what it was answered, in the order in which it heard it. */

/** One answer: from whom, and when by this process's clock. */
export type Told = { node: string; status: number; body: Record<string, unknown>; from: number; at: number }

export type Act = {
  kind:
    | 'call'
    | 'message'
    | 'session'
    | 'draft'
    | 'revision'
    | 'release'
    | 'turn'
    | 'cancel'
    | 'wait'
    | 'ring'
  /** The same in every try. */
  key: string
  /** What it is about: a session, a message. */
  about: string
  text: string
  tries: number
  /** Null until somebody answered. */
  told: Told | null
}

export class History {
  readonly acts: Act[] = []
  retries = 0
  /** Answers that no client should get. */
  readonly odd: string[] = []
  /** What followers of the log saw, by the number of the event. */
  readonly seen = new Map<string, string>()
  readonly seenOtherwise: string[] = []
  seenTotal = 0
  /** From the return of the database to the next act that a node acknowledged. */
  readonly recoveredMs: number[] = []
  /** The same where the machine had no time for anybody, or a fault was done to every node meanwhile. */
  readonly recoveredBusyMs: number[] = []

  begin(kind: Act['kind'], key: string, about: string, text: string): Act {
    const act: Act = { kind, key, about, text, tries: 0, told: null }
    this.acts.push(act)
    return act
  }

  /** A follower heard of an event. All must hear the same under the same number, in rising order. */
  hear(node: string, seq: string, last: string | null, what: string): void {
    this.seenTotal += 1
    const known = this.seen.get(seq)
    if (known === undefined) this.seen.set(seq, what)
    else if (known !== what) this.seenOtherwise.push(`${seq} is ${what} at ${node}, and ${known} elsewhere`)
    if (last !== null && Number(seq) <= Number(last))
      this.seenOtherwise.push(`${node} sent ${seq} after ${last}`)
  }

  list = (kind: Act['kind'], status: number): (Act & { told: Told })[] =>
    this.acts.filter((act): act is Act & { told: Told } => act.kind === kind && act.told?.status === status)
}
