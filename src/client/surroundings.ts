/** Time and randomness of browsers and Node. Only this file of the client uses them, so that tests can replace them. */

export type Surroundings = {
  /** Resolves after that time, or when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** A random text that is unique. */
  draw(): string
}

export const surroundings: Surroundings = {
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve()
      const done = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done, { once: true })
    }),
  draw: () =>
    crypto
      .getRandomValues(new Uint8Array(16))
      .reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), ''),
}
