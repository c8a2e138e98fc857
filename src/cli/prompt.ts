/** Lines from whoever types: asked for one at a time on a terminal, or read as they come from a pipe. */
import { createInterface } from 'node:readline/promises'
import { systemClock } from '../runtime/system-clock.ts'
import type { Input, Output } from './command.ts'

export type Lines = {
  /** The next line; null where there are no more, or the signal aborts. */
  next(prompt: string, signal: AbortSignal): Promise<{ text: string } | 'interrupted' | null>
  close(): void
}

/** Each prompt has an interface of its own: between prompts the terminal is left alone, so that Ctrl-C is a signal again and nothing that is typed spoils what is drawn. */
export function terminalLines(input: Input, output: Output): Lines {
  const history: string[] = []
  return { next: (prompt, signal) => askLine(input, output, prompt, signal, history), close: () => undefined }
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
export async function askLine(input: Input, output: Output, prompt: string, signal: AbortSignal, history: string[] = []): Promise<{ text: string } | 'interrupted' | null> {
  if (signal.aborted) return null
  const reader = createInterface({ input, output: output as unknown as NodeJS.WritableStream, terminal: true, history: [...history], historySize: 200, removeHistoryDuplicates: true })
  const { promise, resolve } = Promise.withResolvers<'interrupted' | null>()
  const end = (): void => resolve(null)
  reader.on('SIGINT', () => resolve('interrupted'))
  reader.on('close', end)
  reader.on('history', (lines: string[]) => history.splice(0, history.length, ...lines))
  signal.addEventListener('abort', end, { once: true })
  try {
    const line = await Promise.race([reader.question(prompt).then((text) => ({ text })), promise])
    // What comes next begins in a line of its own, as it does after Enter.
    if (line === 'interrupted' || line === null) output.write('\n')
    return line
  } finally {
    signal.removeEventListener('abort', end)
    reader.close()
    input.pause()
  }
}

/** Every line of a pipe is kept until it is asked for. */
export function pipedLines(input: Input): Lines {
  const reader = createInterface({ input, terminal: false })
  const lines = reader[Symbol.asyncIterator]()
  return {
    async next(_prompt, signal) {
      if (signal.aborted) return null
      const stopped = Promise.withResolvers<null>()
      const stop = (): void => stopped.resolve(null)
      signal.addEventListener('abort', stop, { once: true })
      try {
        const read = await Promise.race([lines.next(), stopped.promise])
        return read === null || read.done === true ? null : { text: read.value }
      } finally {
        signal.removeEventListener('abort', stop)
      }
    },
    close: () => reader.close(),
  }
}
