/** What the user types while an agent works: shown below what is drawn, and handled line by line. */
import type { Input } from '../command.ts'
import { joinSegments, segment } from '../show/segment.ts'
import { displayWidth, oneLine } from '../show/width.ts'
import { loadReadline } from './load-readline.ts'

/** The last line of what is drawn. */
export type TypedLine = {
  line(width: number, colour: boolean): string
  /** Calls the listener when it changes, until the returned function is called. */
  onChange(listener: () => void): () => void
}

export type Typing = TypedLine & {
  /** Hands the terminal to a question; what was typed so far stays. */
  pause(): void
  resume(): void
  /** Returns what was typed and not entered. */
  close(): string
}

type Key = { name?: string; ctrl?: boolean; meta?: boolean }
type Handle = (line: string) => void

const hint = 'a message for later, /cancel, /quit, or another command'

type LiveOptions = {
  prompt: string
  /** What was typed already. */
  begun: string
  handle: Handle
  interrupt: () => void
}

/** The terminal does not echo, because that would disturb what is drawn. So Ctrl-C is a key here, not a signal. */
export function startLiveTyping(input: Input, { prompt, begun, handle, interrupt }: LiveOptions): Typing {
  let typed = begun
  const listeners = new Set<() => void>()
  const onKey = (text: string | undefined, key: Key): void => {
    if (key.ctrl === true && key.name === 'c') return interrupt()
    if (key.name === 'return' || key.name === 'enter') {
      const line = typed
      typed = ''
      handle(line)
    } else typed = editLine(typed, text ?? '', key)
    listeners.forEach((listener) => listener())
  }
  const resume = (): void => {
    loadReadline().emitKeypressEvents(input)
    input.setRawMode?.(true)
    input.on('keypress', onKey)
    input.resume()
  }
  const pause = (): void => {
    input.off('keypress', onKey)
    input.setRawMode?.(false)
    input.pause()
  }
  resume()
  return {
    pause,
    resume,
    line: (width, colour) => renderTyped(prompt, typed, width, colour),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close() {
      pause()
      return typed
    },
  }
}

/** Where nothing is drawn in place, the terminal shows and keeps what is typed until Enter. */
export function startPlainTyping(input: Input, handle: Handle): Typing {
  const open = () => loadReadline().promises.createInterface({ input, terminal: false }).on('line', handle)
  let reader: ReturnType<typeof open> | null = open()
  const pause = (): void => {
    reader?.close()
    reader = null
    input.pause()
  }
  return {
    pause,
    resume: () => void (reader ??= open()),
    line: () => '',
    onChange: () => () => undefined,
    close() {
      pause()
      return ''
    },
  }
}

/** Scans from the end: a regular expression would try every word of a long line. */
function dropLastWord(typed: string): string {
  const text = typed.trimEnd()
  let end = text.length
  while (end > 0 && !/\s/.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

/** The keys that a single line needs. */
export function editLine(typed: string, text: string, key: Key): string {
  if (key.name === 'backspace') return Array.from(typed).slice(0, -1).join('')
  if (key.ctrl === true && key.name === 'u') return ''
  if (key.ctrl === true && key.name === 'w') return dropLastWord(typed)
  return key.ctrl === true || key.meta === true || /\p{Control}/u.test(text) ? typed : `${typed}${text}`
}

/** Of a long line the end is shown, where the user types. */
export function renderTyped(prompt: string, typed: string, width: number, colour: boolean): string {
  if (typed === '') return joinSegments({ width, colour }, [segment(prompt, 'bold'), segment(hint, 'dim')])
  const room = Math.max(1, width - displayWidth(prompt) - 1)
  const points = Array.from(oneLine(typed) + (/\s$/.test(typed) ? ' ' : ''))
  let from = Math.max(0, points.length - room)
  while (displayWidth(points.slice(from).join('')) > room) from += 1
  const shown = from === 0 ? points.join('') : `…${points.slice(from + 1).join('')}`
  const parts = [segment(prompt, 'bold'), segment(shown), segment('▏', 'dim')]
  return joinSegments({ width, colour }, parts)
}
