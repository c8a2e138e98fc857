/**
 * Runs the user's own command when something needs them, once for each thing. It looks at the list after the
 * events are out, so nothing waits for it, and what goes wrong with it is a warning and nothing else.
 */
import type { StoredEvent } from '../model/event.ts'
import { userSession } from '../model/mail.ts'
import { preview } from '../model/text.ts'
import { visible } from '../model/visible.ts'
import type { Clock } from '../runtime/kernel/ports.ts'
import type { Need } from '../wire/needs.ts'
import { boundedMap } from './bounded-map.ts'

export type NotifyDeps = {
  /** The program and its arguments, with `{title}`, `{text}` and `{link}` in any of them. */
  command: readonly string[]
  needs: () => Promise<readonly Need[]>
  /** Where the page is. */
  link: () => string
  /** Hides what is a secret. */
  mask: (text: string) => string
  /** Runs the command within its bounds. Null, or why it failed. */
  run: (command: readonly string[], signal: AbortSignal) => Promise<string | null>
  clock: Clock
  warn: (text: string) => void
}

export type NotifyView = {
  /** Events as they are committed. Never throws, never waits. */
  events(events: readonly StoredEvent[]): void
  /** Resolves when everything that was seen by then is announced. */
  settled(): Promise<void>
  close(): Promise<void>
}

/** What comes within this time is looked at together. */
const calmMs = 300
/** R11: of one look so many are announced one by one, and the rest in one. */
const eachMax = 5
const knownMax = 2000
const titlePointsMax = 120
const textPointsMax = 600

export function notifyView(deps: NotifyDeps): NotifyView {
  const closing = new AbortController()
  const known = boundedMap<string, true>(knownMax)
  const startedAt = deps.clock.now()
  let looking: Promise<void> | null = null
  let isWanted = false
  let isFirst = true
  let warned = ''

  const announce = async (about: Announcement): Promise<void> => {
    const why = await deps.run(fillCommand(deps.command, about), closing.signal)
    if (why === null || closing.signal.aborted || why === warned) return
    warned = why
    deps.warn(`notify.command: ${why}`)
  }
  /** What already waited when the server started was announced by the one before. */
  const isOld = ({ at, kind }: Need): boolean => at < startedAt || (isFirst && kind === 'project')
  const look = async (): Promise<void> => {
    const fresh = (await deps.needs()).filter((need) => {
      const key = `${need.kind} ${need.id}`
      const isNew = known.get(key) === undefined && !isOld(need)
      known.set(key, true)
      return isNew
    })
    isFirst = false
    // The oldest first.
    const all = fresh.toReversed()
    for (const need of all.slice(0, eachMax)) await announce(describe(need, deps))
    if (all.length > eachMax) await announce(describeRest(all.length - eachMax, deps.link()))
  }
  const wake = (): void => {
    isWanted = true
    if (looking !== null || closing.signal.aborted) return
    looking = (async () => {
      while (isWanted) {
        await deps.clock.sleep(calmMs, closing.signal)
        isWanted = false
        await look()
      }
    })()
      .catch((fault: unknown) => {
        if (!closing.signal.aborted) deps.warn(`notify.command: ${String(fault)}`)
      })
      .finally(() => {
        looking = null
      })
  }
  wake()
  return {
    events(events) {
      if (events.some(({ event }) => mayNeed(event))) wake()
    },
    async settled() {
      while (looking !== null) await looking
    },
    async close() {
      closing.abort()
      await looking
    },
  }
}

/** Whether something may need the person after this. */
function mayNeed(event: StoredEvent['event']): boolean {
  if (event.type === 'turn.ended' || event.type === 'call.ended') return event.outcome !== 'completed'
  if (event.type === 'message.sent') return event.session === userSession
  return event.type === 'question.asked' || event.type === 'message.drafted' || event.type === 'call.refused'
}

type Announcement = { title: string; text: string; link: string }

function describe(need: Need, { link, mask }: Pick<NotifyDeps, 'link' | 'mask'>): Announcement {
  const input = need.input === null ? '' : JSON.stringify(need.input)
  const lines = [
    need.tool === null ? '' : `${need.tool} ${input}`,
    need.text,
    need.task === '' ? '' : `Task: ${need.task}`,
    need.cwd === '' ? '' : `In: ${need.cwd}`,
  ]
  const text = lines.filter((line) => line !== '').join('\n')
  return {
    title: preview(visible(mask(need.title.replaceAll(/\s+/g, ' '))), titlePointsMax),
    text: preview(visible(mask(text)), textPointsMax),
    link: need.flow === null ? link() : `${link()}#/flows/${need.flow}`,
  }
}

const describeRest = (count: number, link: string): Announcement => ({
  title: count === 1 ? 'One more thing needs you' : `${count} more things need you`,
  text: 'The page and "tieline needs" list them.',
  link,
})

/** The program is never from a text, and no text is taken for an option. */
export function fillCommand([program = '', ...rest]: readonly string[], about: Announcement): string[] {
  const values: Readonly<Record<string, string>> = about
  const fill = (argument: string): string => {
    const filled = argument.replaceAll(
      /\{(title|text|link)\}/g,
      (whole, name: string) => values[name] ?? whole,
    )
    return filled.startsWith('-') && !argument.startsWith('-') ? ` ${filled}` : filled
  }
  return [program, ...rest.map(fill)]
}
