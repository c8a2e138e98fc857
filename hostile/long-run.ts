/** What runs of some minutes share: their flags, their line of progress, and how a server in them is ended. */

/** A whole number above 0. */
export function readNumber(name: string, given: string | undefined, otherwise: number): number {
  const value = Number(given ?? otherwise)
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name}: "${given ?? ''}" is not a whole number above 0`)
  return value
}

/** A line that is written over on a terminal, one each ten seconds otherwise. The answer ends it. */
export function showProgress(status: () => string): () => void {
  const { stderr } = process
  const show = (): unknown =>
    stderr.write(stderr.isTTY ? `\r\u001b[2K${status().slice(0, stderr.columns - 1)}` : `${status()}\n`)
  const timer = setInterval(show, stderr.isTTY ? 500 : 10_000)
  return () => {
    clearInterval(timer)
    if (stderr.isTTY) stderr.write('\r\u001b[2K')
  }
}

/** For the process of a server. */
export function closeOnSigterm(served: { close(): Promise<void> }): void {
  process.on(
    'SIGTERM',
    () =>
      void served.close().then(
        () => process.exit(0),
        (error: unknown) => {
          console.error(error)
          process.exit(1)
        },
      ),
  )
}
