/**
 * Makes a connection where a try may hear nothing for long: the packet was lost, or went to a machine that is no
 * longer there. A database that is back must not be waited for until such a try gives up, so another one is begun
 * beside it every second. None is cut short for that: on a full machine each still has all of its time.
 */

const besideMs = 1000
const triesMax = 5

/** The first that succeeds. Those that succeed after it are given to `discard`. */
export function tryBeside<T>(open: () => Promise<T>, { sleep, discard, passes }: Beside<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let isOver = false
    let pending = 0
    const begin = (): void => {
      pending += 1
      open().then(
        (value) => {
          if (isOver) return discard(value)
          isOver = true
          resolve(value)
        },
        (fault: unknown) => {
          pending -= 1
          // While another try is under way, that one may still succeed.
          if (isOver || (pending > 0 && passes(fault))) return
          isOver = true
          reject(fault as Error)
        },
      )
    }
    const goOn = async (): Promise<void> => {
      begin()
      for (let tries = 1; tries < triesMax; tries += 1) {
        await sleep(besideMs)
        if (isOver) return
        begin()
      }
    }
    goOn().catch(reject)
  })
}

type Beside<T> = {
  sleep: (ms: number) => Promise<void>
  discard: (late: T) => void
  /** Whether another try could have another result. */
  passes: (fault: unknown) => boolean
}
