/**
 * Finds out that nobody is at the other end any more. Where a machine was unplugged, or a network forgot a
 * connection, both ends believe in it, and a question waits until its time is up. So where an answer does not come
 * soon, another connection asks PostgreSQL what became of the one that is waited for. That it waits for a key or
 * works is no reason to give it up; that PostgreSQL does not know it, or has nothing to do for it while nothing
 * arrives here either, is one.
 */

/** What PostgreSQL does for a connection. */
export type Doing = 'gone' | 'nothing' | 'something'

export type Watched = {
  sleep: (ms: number) => Promise<void>
  isOpen: () => boolean
  /** How much has arrived so far. */
  arrived: () => number
  /** Rejects where PostgreSQL cannot be asked: that says nothing about the connection. */
  ask: () => Promise<Doing>
  /** Nothing more is going to be asked soon. */
  rest: () => void
  giveUp: () => void
}

/** A flight that is under way at two looks in a row is asked about. */
const lookMs = 300

/** Call `begin` with each flight, and what it returns at its end. At most one timer runs, however many there are. */
export function watchFlights(watched: Watched): { begin: () => () => void } {
  let flight = 0
  let isFlying = false
  let isWatching = false
  const watch = async (): Promise<void> => {
    const { sleep, isOpen, arrived, ask, rest, giveUp } = watched
    let known = 0
    let idleAt: number | null = null
    for (;;) {
      await sleep(lookMs)
      if (!isOpen() || !isFlying) break
      if (flight !== known) {
        known = flight
        idleAt = null
        continue
      }
      const doing = await ask().catch(() => null)
      if (!isOpen() || !isFlying || flight !== known) continue
      // Once may be an answer that is on its way.
      if (doing === 'gone' || (doing === 'nothing' && idleAt === arrived())) giveUp()
      idleAt = doing === 'nothing' ? arrived() : null
    }
    rest()
  }
  return {
    begin() {
      flight += 1
      isFlying = true
      if (!isWatching) {
        isWatching = true
        void watch()
          .catch(() => undefined) // Then the flight has its time, and no more.
          .finally(() => (isWatching = false))
      }
      return () => void (isFlying = false)
    },
  }
}
