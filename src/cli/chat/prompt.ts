/** Lines from whoever types: asked for one at a time on a terminal, or read as they come from a pipe. */
import { createInterface } from 'node:readline/promises'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { Input } from '../command.ts'
import { rendered, type Output } from '../show/terminal.ts'
import { liveTyping, plainTyping, type TypedLine, type Typing } from './typing.ts'

export type Lines = {
  /** The next line; null where there are no more, or the signal aborts. */
  next(prompt: string, signal: AbortSignal): Promise<{ text: string } | 'interrupted' | null>
  /**
   * Hears lines that come while something else goes on, until the returned function is called. What it does
   * not take (false) waits for `next`.
   */
  during(prompt: string, hear: (line: string) => boolean): () => void
  /** For what is drawn meanwhile. */
  typed: TypedLine | null
  /** Leaves the terminal to a question, and takes it again. */
  aside<T>(ask: () => Promise<T>): Promise<T>
  close(): void
}

/**
 * Each prompt has an interface of its own: what is typed between prompts is read in another way, so that it
 * does not spoil what is drawn (`live`).
 */
export function terminalLines(input: Input, output: Output, live: boolean): Lines {
  const history: string[] = []
  let typing: Typing | null = null
  let unfinished = ''
  return {
    next(prompt, signal) {
      const begun = unfinished
      unfinished = ''
      return askLine(input, output, prompt, signal, { history, begun })
    },
    during(prompt, hear) {
      typing = live
        ? liveTyping(input, { prompt, begun: unfinished, hear, interrupt: () => void process.emit('SIGINT') })
        : plainTyping(input, hear)
      return () => {
        unfinished = typing?.close() ?? ''
        typing = null
      }
    },
    typed: !live
      ? null
      : {
          line: (width, colour) => typing?.line(width, colour) ?? '',
          onChange: (listener) => typing?.onChange(listener) ?? (() => undefined),
        },
    async aside(ask) {
      typing?.pause()
      try {
        return await ask()
      } finally {
        typing?.resume()
      }
    },
    close: () => undefined,
  }
}

/** What was typed before a question was seen is no answer to it. */
export async function dropTyped(input: Input): Promise<void> {
  const ignore = (): void => undefined
  input.setRawMode?.(true)
  input.on('data', ignore)
  input.resume()
  await systemClock.sleep(dropMs)
  input.pause()
  input.off('data', ignore)
  input.setRawMode?.(false)
}
const dropMs = 50

/** At a prompt the terminal sends no signal for Ctrl-C; it is told as a value. Ctrl-D is the end. */
export async function askLine(
  input: Input,
  output: Output,
  prompt: string,
  signal: AbortSignal,
  { history = [], begun = '' }: { history?: string[]; /** What was typed already. */ begun?: string } = {},
): Promise<{ text: string } | 'interrupted' | null> {
  if (signal.aborted) return null
  const reader = createInterface({
    input,
    output: output.raw ?? (output as unknown as NodeJS.WritableStream),
    terminal: true,
    history: [...history],
    historySize: 200,
    removeHistoryDuplicates: true,
  })
  const { promise, resolve } = Promise.withResolvers<'interrupted' | null>()
  const end = (): void => resolve(null)
  reader.on('SIGINT', () => resolve('interrupted'))
  reader.on('close', end)
  reader.on('history', (lines: string[]) => history.splice(0, history.length, ...lines))
  signal.addEventListener('abort', end, { once: true })
  try {
    const answer = reader.question(rendered(prompt)).then((text) => ({ text }))
    if (begun !== '') reader.write(begun)
    const line = await Promise.race([answer, promise])
    // What comes next begins in a line of its own, as it does after Enter.
    if (line === 'interrupted' || line === null) output.write('\n')
    return line
  } finally {
    signal.removeEventListener('abort', end)
    reader.close()
    input.pause()
  }
}

/**
 * Every line of a pipe is kept until it is asked for: a script waits for each answer. Only what comes alone,
 * while something goes on, can be heard at once.
 */
export function pipedLines(input: Input): Lines {
  const kept: string[] = []
  let ended = false
  let hear: ((line: string) => boolean) | null = null
  let wake = (): void => undefined
  const reader = createInterface({ input, terminal: false })
  reader.on('line', (line) => {
    if (kept.length === 0 && hear?.(line) === true) return
    kept.push(line)
    wake()
  })
  reader.on('close', () => {
    ended = true
    wake()
  })
  return {
    async next(_prompt, signal) {
      while (kept.length === 0 && !ended && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        signal.addEventListener('abort', wake, { once: true })
        await promise
        signal.removeEventListener('abort', wake)
      }
      const text = signal.aborted ? undefined : kept.shift()
      return text === undefined ? null : { text }
    },
    during(_prompt, listener) {
      hear = listener
      return () => void (hear = null)
    },
    typed: null,
    aside: (ask) => ask(),
    close: () => reader.close(),
  }
}
