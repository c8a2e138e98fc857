/** What somebody types while an agent works: shown below what is drawn, and taken line by line. */
import { emitKeypressEvents } from 'node:readline'
import { createInterface } from 'node:readline/promises'
import type { Input } from '../command.ts'
import { joinSegments, segment } from '../show/segment.ts'
import { displayWidth, oneLine } from '../show/width.ts'

/** The last line of what is drawn. */
export type TypedLine = {
  line(width: number, colour: boolean): string
  /** Tells when it is to be drawn again, until the returned function is called. */
  onChange(listener: () => void): () => void
}

export type Typing = TypedLine & {
  /** Leaves the terminal to somebody else, such as a question; what was typed so far stays. */
  pause(): void
  resume(): void
  /** Gives back what was typed and not entered. */
  close(): string
}

type Key = { name?: string; ctrl?: boolean; meta?: boolean }
type Hear = (line: string) => void

const hint = 'a message for later, /cancel, /quit, or another command'

/**
 * The terminal echoes nothing meanwhile, because that would spoil what is drawn; so Ctrl-C is a key here, and
 * is made the signal that it is elsewhere.
 */
export function liveTyping(
  input: Input,
  {
    prompt,
    begun,
    hear,
    interrupt,
  }: { prompt: string; /** What was typed already. */ begun: string; hear: Hear; interrupt: () => void },
): Typing {
  let typed = begun
  const listeners = new Set<() => void>()
  const onKey = (text: string | undefined, key: Key): void => {
    if (key.ctrl === true && key.name === 'c') return interrupt()
    if (key.name === 'return' || key.name === 'enter') {
      const line = typed
      typed = ''
      hear(line)
    } else typed = edited(typed, text ?? '', key)
    listeners.forEach((listener) => listener())
  }
  const resume = (): void => {
    emitKeypressEvents(input)
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
    line: (width, colour) => typedLine(prompt, typed, width, colour),
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
export function plainTyping(input: Input, hear: Hear): Typing {
  const open = () => createInterface({ input, terminal: false }).on('line', hear)
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

/** Looked for from the end: a pattern would try every word of a long line. */
function withoutLastWord(typed: string): string {
  const text = typed.trimEnd()
  let end = text.length
  while (end > 0 && !/\s/.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

/** The few keys that one needs in a line that is written blindly often. */
export function edited(typed: string, text: string, key: Key): string {
  if (key.name === 'backspace') return Array.from(typed).slice(0, -1).join('')
  if (key.ctrl === true && key.name === 'u') return ''
  if (key.ctrl === true && key.name === 'w') return withoutLastWord(typed)
  return key.ctrl === true || key.meta === true || /\p{Control}/u.test(text) ? typed : `${typed}${text}`
}

/** The end of a long line is what somebody writes at. */
export function typedLine(prompt: string, typed: string, width: number, colour: boolean): string {
  if (typed === '') return joinSegments([segment(prompt, 'bold'), segment(hint, 'dim')], [], width, colour)
  const room = Math.max(1, width - displayWidth(prompt) - 1)
  const points = Array.from(oneLine(typed) + (/\s$/.test(typed) ? ' ' : ''))
  let from = Math.max(0, points.length - room)
  while (displayWidth(points.slice(from).join('')) > room) from += 1
  const shown = from === 0 ? points.join('') : `…${points.slice(from + 1).join('')}`
  return joinSegments([segment(prompt, 'bold'), segment(shown), segment('▏', 'dim')], [], width, colour)
}
