/** Requests of `tieline mcp` to the server: it is found or started when it is needed, and looked for again. */

export type ServerAddress = { url: string; token: string | null }

export type PosterDeps = {
  /** Finds the running server or starts one. */
  server: () => Promise<ServerAddress>
  version: string
}

/** It never arrived: nothing has run. `again`: another look for the server may help. */
export class Unreachable extends Error {
  readonly again: boolean
  constructor(cause: unknown, again: boolean) {
    super(`The Tieline server cannot be reached: ${describeFault(cause)}`, { cause })
    this.again = again
  }
}

type Post = (body: string, headers: Record<string, string>, signal: AbortSignal) => Promise<Response>
export type Poster = { send: Post; find(): Promise<unknown>; isFound(): boolean }

/** Remembers where the server is, and looks again when it is not there. */
export function createPoster(deps: PosterDeps): Poster {
  let finding: Promise<ServerAddress> | null = null
  let isFound = false

  const find = (): Promise<ServerAddress> => {
    const mine = (finding ??= deps.server())
    mine.then(
      () => (isFound = true),
      () => finding === mine && (finding = null),
    )
    return mine
  }

  const once: Post = async (body, headers, signal) => {
    const mine = find()
    const forget = (): void => {
      if (finding === mine) finding = null
    }
    const place = await mine.catch((error: unknown) => {
      throw new Unreachable(error, false)
    })
    const authorization = place.token === null ? {} : { authorization: `Bearer ${place.token}` }
    return fetch(new URL('/mcp', place.url), {
      method: 'POST',
      body,
      signal,
      headers: { ...headers, ...authorization, 'user-agent': `tieline-mcp/${deps.version}` },
    }).catch((error: unknown) => {
      if (!signal.aborted) forget()
      throw wasRefused(error) ? new Unreachable(error, true) : error
    })
  }

  // Only what surely never arrived is sent again: anything else may have run.
  const send: Post = (...request) =>
    once(...request).catch((error: unknown) => {
      if (error instanceof Unreachable && error.again) return once(...request)
      throw error
    })
  return { send, find, isFound: () => isFound }
}

function wasRefused(error: unknown): boolean {
  return (
    error instanceof Error &&
    ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED' || wasRefused(error.cause))
  )
}

/** The innermost cause is what helps. */
export function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${describeFault(error.cause)})` : error.message
}
