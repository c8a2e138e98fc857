/**
 * What an attack is: data with a name, and one try. Attacks of one family stand in one file of `attacks/`.
 */
import { surroundings } from '../src/client/surroundings.ts'
import { connect } from 'node:net'
import type { Random } from '../sim/random.ts'

/**
 * How a try ended for the attacker. `served`: a 2xx or its like; `refused`: a clear no; `cut`: the connection
 * ended; `late`: nothing came in time; `fault`: a 5xx that is no 503.
 */
export type Ending = 'served' | 'refused' | 'cut' | 'late' | 'fault'

export type Target = {
  url: string
  /** Where agents work. */
  cwd: string
  /** Sessions that are there to be attacked; those of the load are not. */
  sessions: readonly string[]
  random: Random
  /** Aborts when the try takes too long, or the run is over. */
  signal: AbortSignal
  /** In the command lines of whatever is started, so that it is found if it is left behind. */
  run: string
  dataDir: string
}

export type Attack = { kind: string; try(target: Target): Promise<Ending> }
export type Family = { name: string; attacks: readonly Attack[] }

export const endingOf = (status: number): Ending =>
  status < 400 ? 'served' : status >= 500 && status !== 503 ? 'fault' : 'refused'

/** One request with any body. A connection that breaks has an ending too. */
export async function ask(
  { url, signal }: Target,
  method: string,
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Ending> {
  try {
    const sent = {
      method,
      signal,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body }),
    }
    const response = await fetch(`${url}${path}`, sent)
    await response.arrayBuffer()
    return endingOf(response.status)
  } catch {
    // Whether the server hung up or the time was over is all that can be told.
    return signal.aborted ? 'late' : 'cut'
  }
}

export const post = (
  target: Target,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Ending> =>
  ask(target, 'POST', path, typeof body === 'string' ? body : JSON.stringify(body), headers)

/**
 * Bytes on a bare connection, some now and some later; ends when the other side does, or the time is over.
 */
export function speak(
  { url, signal }: Target,
  parts: readonly (string | Uint8Array)[],
  pauseMs: number,
  reads = true,
): Promise<Ending> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let heard = ''
    const over = (ending: Ending): void => {
      signal.removeEventListener('abort', late)
      socket.destroy()
      resolve(ending)
    }
    const late = (): void => over('late')
    if (signal.aborted) return over('late')
    signal.addEventListener('abort', late, { once: true })
    socket.on('error', () => over('cut'))
    socket.on('close', () =>
      over(heard === '' ? 'cut' : endingOf(Number(/^HTTP\/1\.1 (\d+)/.exec(heard)?.[1] ?? 400))),
    )
    if (reads) socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1', 0, 200)))
    else socket.pause()
    void (async () => {
      for (const part of parts) {
        if (socket.destroyed) return
        socket.write(part)
        await pause(pauseMs, signal)
      }
    })()
  })
}

export const pause = (ms: number, signal?: AbortSignal): Promise<void> => surroundings.sleep(ms, signal)

export const deep = (depth: number, open = '[', close = ']', inner = '0'): string =>
  open.repeat(depth) + inner + close.repeat(depth)

const letters = 'abcdefghijklmnopqrstuvwxyz'
export function randomLetters(random: Random, length: number): string {
  let text = ''
  while (text.length < length) text += letters[random.below(26)]
  return text
}
