/**
 * Holds back what is written to many streams until the end of this turn of the loop, so that the kernel is
 * asked once for each: with hundreds of listeners that is most of the cost. It is asked for a few of them at a
 * time, so that a thousand listeners keep nobody else waiting.
 */
import { callEach } from '../model/contained.ts'
import { afterRound } from '../runtime/kernel/next-round.ts'

export type Held = { cork(): void; uncork(): void }

export type GatheredWrites = {
  hold(stream: Held): void
  /** How much a stream has not got rid of. Much is only believed after it was let go. */
  buffered(stream: Held, bytes: () => number): number
}

const muchBytes = 64 * 1024
/** About half a millisecond. */
const streamsAtOnce = 32

export function gatherWrites(): GatheredWrites {
  const held = new Set<Held>()
  let going = false
  const letGo = (): void => {
    const streams: Held[] = []
    for (const stream of held) {
      if (streams.length === streamsAtOnce) break
      streams.push(stream)
      held.delete(stream)
    }
    if (held.size > 0) afterRound(letGo)
    else going = false
    // One that broke meanwhile tells its own listeners; the others are let go all the same.
    callEach(
      () => undefined,
      streams.map((stream) => () => stream.uncork()),
    )
  }
  return {
    hold(stream) {
      if (held.has(stream)) return
      if (!going) process.nextTick(letGo)
      going = true
      held.add(stream)
      stream.cork()
    },
    buffered(stream, bytes) {
      const all = bytes()
      if (all < muchBytes || !held.delete(stream)) return all
      stream.uncork()
      return bytes()
    },
  }
}
