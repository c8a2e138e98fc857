/** Lines of input: asked for one at a time on a terminal, or read from a pipe as they come. */
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { Input } from '../command.ts'
import { renderControls, type Output } from '../show/terminal.ts'
import { oneLine } from '../show/width.ts'
import { loadReadline } from './load-readline.ts'
import { startLiveTyping, startPlainTyping, type TypedLine, type Typing } from './typing.ts'

export type Line = { text: string } | 'interrupted' | null

export type Lines = {
  /** The next line; null at the end of the input, or when the signal aborts. */
  next(prompt: string, signal: AbortSignal): Promise<Line>
  /**
   * Handles lines that come while an agent works, until the returned function is called. A line that is not
   * handled (false) waits for `next`.
   */
  during(prompt: string, handle: (line: string) => boolean): () => void
  /** The line that is drawn while an agent works. */
  typed: TypedLine | null
  /** Hands the terminal to a question, and takes it back. */
  aside<T>(ask: () => Promise<T>): Promise<T>
  close(): void
}

/** What is typed between prompts is read in another way, so that it does not disturb what is drawn (`live`). */
export function readTerminal(input: Input, output: Output, live: boolean): Lines {
  const history: string[] = []
  /** Lines of a text that was pasted at once. */
  const pasted: string[] = []
  let typing: Typing | null = null
  let unfinished = ''
  return {
    async next(prompt, signal) {
      const text = pasted.shift()
      if (text !== undefined) {
        output.write(`${prompt}${oneLine(text)}\n`)
        return { text }
      }
      const begun = unfinished
      unfinished = ''
      return askLine(input, output, prompt, signal, {
        history,
        begun,
        onMore(lines, rest) {
          pasted.push(...lines)
          unfinished = rest
        },
      })
    },
    during(prompt, handle) {
      const interrupt = (): void => void process.emit('SIGINT')
      typing = live
        ? startLiveTyping(input, { prompt, begun: unfinished, handle, interrupt })
        : startPlainTyping(input, handle)
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

const dropMs = 50

/** What was typed before a question was shown is no answer to it. */
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

type AskOptions = {
  history?: string[]
  /** What was typed already. */
  begun?: string
  /** Gets the lines that came together with the first one, and what follows the last of them. */
  onMore?: (lines: string[], rest: string) => void
}

/** At a prompt Ctrl-C is a value, because the terminal sends no signal for it. Ctrl-D ends the input. */
export async function askLine(
  input: Input,
  output: Output,
  prompt: string,
  signal: AbortSignal,
  { history = [], begun = '', onMore }: AskOptions = {},
): Promise<Line> {
  if (signal.aborted) return null
  const reader = loadReadline().promises.createInterface({
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
  const more: string[] = []
  reader.on('line', (line) => more.push(line))
  reader.on('history', (lines: string[]) => history.splice(0, history.length, ...lines))
  signal.addEventListener('abort', end, { once: true })
  try {
    const answer = reader.question(renderControls(prompt)).then((text) => ({ text }))
    if (begun !== '') reader.write(begun)
    const line = await Promise.race([answer, promise])
    // The next output begins on a line of its own, as it does after Enter.
    if (line === 'interrupted' || line === null) output.write('\n')
    else onMore?.(more, reader.line)
    return line
  } finally {
    signal.removeEventListener('abort', end)
    reader.close()
    input.pause()
  }
}

/**
 * Lines of a pipe are kept until they are asked for: a script waits for each answer. Only a line that arrives
 * while nothing else is kept can be handled at once.
 */
export function readPipe(input: Input): Lines {
  const kept: string[] = []
  let ended = false
  let handle: ((line: string) => boolean) | null = null
  let wake = (): void => undefined
  const reader = loadReadline().promises.createInterface({ input, terminal: false })
  reader.on('line', (line) => {
    if (kept.length === 0 && handle?.(line) === true) return
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
      handle = listener
      return () => void (handle = null)
    },
    typed: null,
    aside: (ask) => ask(),
    close: () => reader.close(),
  }
}
