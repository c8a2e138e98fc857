/**
 * Mail for sessions that a person works in: told with the next prompt or tool result, and, where one rests and the
 * policy says so, by a prompt of its own. Everything is decided at the server; what it does not answer in time is
 * not waited for.
 */
import { faultMessage } from '../../model/contained.ts'
import type { Surroundings } from '../../client/surroundings.ts'
import { agentIn } from './conversation.ts'
import { keepModel } from './delivered-turns.ts'
import type { KnownSessions } from './known-sessions.ts'
import { answered, type OpencodeClient } from './opencode-api.ts'
import type { OwnPrompts } from './own-prompts.ts'
import type { ServerLink } from './server-link.ts'

export type OpenNewsDeps = {
  opencode: OpencodeClient
  prompts: OwnPrompts
  sessions: Pick<KnownSessions, 'nameOf'>
  link: Pick<ServerLink, 'current'>
  surroundings: Surroundings
  report(text: string): void
}

const tellMsMax = 900
const againMs = 2000
const endMs = 300
/** R11: those that were used last. */
const watchedMax = 8

export class OpenNews {
  readonly #deps: OpenNewsDeps
  readonly #watched = new Map<string, AbortController>()

  constructor(deps: OpenNewsDeps) {
    this.#deps = deps
  }

  /** What is said with a prompt of the person, or with the result of a tool; nothing where it takes too long. */
  async read(session: string, moment: 'prompted' | 'used' | 'resting'): Promise<string> {
    const { link, sessions, surroundings } = this.#deps
    const [client, name] = [link.current()?.client, sessions.nameOf(session)]
    if (client === undefined || name === null) return ''
    const late = surroundings.sleep(tellMsMax).then(() => '')
    const said = client.sessions.news(name, moment).then(
      ({ text }) => text,
      () => '',
    )
    return Promise.race([said, late])
  }

  /** A person works in it: from now on it is told while it rests too. */
  watch(session: string): void {
    if (this.#watched.has(session)) return
    const over = new AbortController()
    this.#watched.set(session, over)
    const [oldest] = this.#watched.keys()
    if (this.#watched.size > watchedMax && oldest !== undefined) this.forget(oldest)
    void this.#wait(session, over.signal).catch((error: unknown) => {
      if (!over.signal.aborted) this.#deps.report(faultMessage(error))
    })
  }

  forget(session: string): void {
    this.#watched.get(session)?.abort()
    this.#watched.delete(session)
  }

  close(): void {
    for (const session of Array.from(this.#watched.keys())) this.forget(session)
  }

  isWatched(session: string): boolean {
    return this.#watched.has(session)
  }

  /** It would rest now, when what it was given here has ended too; what there is to say makes it go on. */
  async rested(session: string, isGiven: () => boolean): Promise<void> {
    const { prompts, surroundings } = this.#deps
    const over = this.#watched.get(session)?.signal
    while (isGiven()) await surroundings.sleep(endMs)
    // Where it works again, another end will come.
    if (over === undefined || !(await prompts.isResting(session))) return
    await this.#say(session, await this.read(session, 'resting'), over)
  }

  async #wait(session: string, signal: AbortSignal): Promise<void> {
    const { link, prompts, sessions, surroundings } = this.#deps
    while (!signal.aborted) {
      // A server that has just started does not know that it works, and would start it.
      await prompts.untilResting(session, signal)
      const [client, name] = [link.current()?.client, sessions.nameOf(session)]
      const news =
        client === undefined || name === null
          ? null
          : await client.sessions.awaitNews(name, { signal }).catch(() => null)
      if (signal.aborted) return
      if (news === null) await surroundings.sleep(againMs, signal).catch(() => undefined)
      else if (news.status === 'told') await this.#say(session, news.text, signal)
      else if (news.status === 'replaced') return this.forget(session)
    }
  }

  /**
   * What opencode does not take was announced all the same, and is not said twice: it waits in the inbox. The server
   * hears that the session rests, and may have something else to say.
   */
  async #say(session: string, text: string, signal: AbortSignal): Promise<void> {
    for (let said = text; said !== '' && !signal.aborted;)
      try {
        return await this.#deps.prompts.run(session, signal, () => this.#prompt(session, said))
      } catch (error) {
        if (signal.aborted) return
        this.#deps.report(faultMessage(error))
        said = await this.read(session, 'resting')
      }
  }

  async #prompt(id: string, text: string): Promise<void> {
    const { session } = this.#deps.opencode
    const at = { path: { id } }
    const known = await answered(session.get(at), `find session ${id}`)
    const agent = known.agent ?? agentIn(await answered(session.messages(at), 'show a conversation'))
    const parts = [{ type: 'text' as const, text, metadata: { tieline: { news: true } } }]
    await answered(session.prompt({ ...at, body: { ...keepModel(known, agent), parts } }), 'take the news')
  }
}
