/**
 * Prompts of ours, one at a time in a session, and none while it works: opencode answers what comes meanwhile together
 * with what it is at work on, and then one of the two has no answer of its own.
 */
import type { Surroundings } from '../../client/surroundings.ts'
import { answered, type OpencodeClient, type OpencodeEvent } from './opencode-api.ts'

export type OwnPromptsDeps = { opencode: OpencodeClient; surroundings: Surroundings }

/** Events say so at once; this is for those that were missed. */
const lookAgainMs = 2000

export class OwnPrompts {
  readonly #deps: OwnPromptsDeps
  /** By session: the last of ours, which the next one waits for. */
  readonly #last = new Map<string, Promise<unknown>>()
  /** Sessions with a prompt that opencode has taken and does not work on yet. */
  readonly #entering = new Map<string, number>()
  readonly #waiting = new Set<() => void>()

  constructor(deps: OwnPromptsDeps) {
    this.#deps = deps
  }

  /** Begins when the session rests, and nothing of ours is at work in it. */
  run<T>(session: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(session) ?? Promise.resolve()
    const mine = (async () => {
      await unlessAborted(before, signal)
      await this.untilResting(session, signal)
      return work()
    })()
    const over: Promise<unknown> = Promise.allSettled([before, mine]).then(() => {
      if (this.#last.get(session) === over) this.#last.delete(session)
    })
    this.#last.set(session, over)
    return mine
  }

  /** `work` is what is done with a prompt before opencode works on it. */
  async enter<T>(session: string, work: () => Promise<T>): Promise<T> {
    this.#entering.set(session, (this.#entering.get(session) ?? 0) + 1)
    try {
      return await work()
    } finally {
      const left = (this.#entering.get(session) ?? 1) - 1
      if (left === 0) this.#entering.delete(session)
      else this.#entering.set(session, left)
    }
  }

  async isResting(session: string): Promise<boolean> {
    const status = await answered(this.#deps.opencode.session.status(), 'say what it does')
    const isIdle = status[session] === undefined || status[session].type === 'idle'
    return isIdle && !this.#entering.has(session)
  }

  async untilResting(session: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const { promise: news, resolve: wake } = Promise.withResolvers<void>()
      this.#waiting.add(wake)
      try {
        if (await this.isResting(session)) return
        await Promise.race([news, this.#deps.surroundings.sleep(lookAgainMs, signal)])
      } finally {
        this.#waiting.delete(wake)
      }
    }
  }

  handle({ type }: OpencodeEvent): void {
    if (type === 'session.idle' || type === 'session.status')
      for (const wake of Array.from(this.#waiting)) wake()
  }
}

async function unlessAborted(before: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
  const onAbort = (): void => stop()
  signal.throwIfAborted()
  signal.addEventListener('abort', onAbort, { once: true })
  await Promise.race([before, stopped])
  signal.removeEventListener('abort', onAbort)
  signal.throwIfAborted()
}
