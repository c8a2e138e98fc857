/**
 * Messages of the protocol over the pipes of a process. Lines are bounded before they are parsed, and what is no
 * message, such as a banner or a warning on the wrong stream, is passed over: an agent that chatters is not a
 * broken one. A few lines are taken in each round of the event loop, so that a flood holds up nobody else.
 */
import type { Readable, Writable } from 'node:stream'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { boundedLines } from '../../model/bounded-lines.ts'
import { parseJson, type JsonLimits } from '../../model/bounded-json.ts'
import { contained, listen } from '../../model/contained.ts'
import { isRecord } from '../../model/json.ts'
import { isRefusal } from '../../model/refusal.ts'
import { afterRound } from '../../runtime/kernel/next-round.ts'

/** A file that an agent shows whole is in one line. It is parsed at once: 4 MiB take some 30 ms. */
const messageLimits: JsonLimits = {
  bytesMax: 4 * 1024 * 1024,
  depthMax: 100,
  valuesMax: 200_000,
  fieldsMax: 20_000,
}
/** So many messages may wait for us before the agent has to. */
const waitingMax = 256
const linesEachRound = 32
/** So much of what is parsed in one round, at least one line. */
const unitsEachRound = 128 * 1024
const garbageUnitsMax = 2000

export type MessageStream = Stream & {
  /** The end of what it wrote that was no message, for a fault's text. */
  garbage: () => string
}

/** `broke` hears of what ends the stream for good. */
export function openMessages(
  { stdin, stdout }: { stdin: Writable; stdout: Readable },
  broke: (fault: unknown) => void,
): MessageStream {
  let garbage = ''
  const note = (line: string): void => {
    garbage += `${line.slice(0, garbageUnitsMax)}\n`
    if (garbage.length > 2 * garbageUnitsMax) garbage = garbage.slice(-garbageUnitsMax)
  }
  let isTaking = false
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      const fail = (fault: unknown): void => {
        controller.error(fault)
        broke(fault)
      }
      const take = (line: string): void => {
        const parsed = line.trimStart().startsWith('{') ? parseJson(line, 'message', messageLimits) : null
        if (parsed !== null && !isRefusal(parsed) && isRecord(parsed.value))
          return controller.enqueue(parsed.value as AnyMessage)
        note(line)
      }
      let [isOver, isClosed] = [false, false]
      const end = (): void => {
        isOver = true
        if (isTaking || isClosed) return
        isClosed = true
        controller.close()
      }
      const lines = takeByRounds(take, fail, () => {
        isTaking = false
        if (isOver) end()
        else if ((controller.desiredSize ?? 0) >= -waitingMax) stdout.resume()
      })
      const tooLong = (): void => note(`(a line of more than ${messageLimits.bytesMax} bytes)`)
      const read = boundedLines(messageLimits.bytesMax, lines.add, tooLong)
      listen(stdout, 'data', fail, (piece: Buffer) => {
        read(piece)
        // The next piece comes when these lines were taken, in a round of its own.
        stdout.pause()
        isTaking = true
        lines.begin()
      })
      listen(stdout, 'end', broke, end)
      listen(stdout, 'close', broke, end)
      listen(stdout, 'error', broke, fail)
    },
    pull: () => void (isTaking || stdout.resume()),
  })
  listen(stdin, 'error', broke, broke)
  const writable = new WritableStream<AnyMessage>({
    write: (message) =>
      new Promise<void>((resolve, reject) => {
        stdin.write(`${JSON.stringify(message)}\n`, (fault) => (fault == null ? resolve() : reject(fault)))
      }),
  })
  return { readable, writable, garbage: () => garbage.slice(-garbageUnitsMax) }
}

/** Takes the first lines at once and a few in each round after that; `done` comes in the round after the last. */
function takeByRounds(
  take: (line: string) => void,
  fail: (fault: unknown) => void,
  done: () => void,
): { add: (line: string) => void; begin: () => void } {
  let lines: string[] = []
  let isUnderWay = false
  const takeSome = (): void => {
    let [taken, units] = [0, 0]
    while (taken < lines.length && taken < linesEachRound && units < unitsEachRound) {
      const line = lines[taken] ?? ''
      taken += 1
      units += line.length
      take(line)
    }
    const isLast = taken === 0
    lines = lines.slice(taken)
    isUnderWay = !isLast
    if (isLast) done()
    else afterRound(contained(fail, takeSome))
  }
  return {
    add: (line) => void lines.push(line),
    begin: () => void (isUnderWay || contained(fail, takeSome)()),
  }
}
