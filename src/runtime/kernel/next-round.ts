/** The pause between two slices of long work. */

const pausing: (() => void)[] = []

function resumeOne(): void {
  pausing.shift()?.()
  if (pausing.length > 0) setImmediate(resumeOne)
}

/**
 * Lets everything else run that is ready to: the pause between two slices of long work. Each round of the
 * event loop resumes one pausing work, the one that pauses longest. So timers and sockets wait for one slice,
 * however many long works there are.
 */
export const nextRound = (): Promise<void> =>
  new Promise((resolve) => {
    if (pausing.push(resolve) === 1) setImmediate(resumeOne)
  })

/** Calls `run` when this round of the event loop is over, whatever pauses. */
export const afterRound = (run: () => void): void => void setImmediate(run)
