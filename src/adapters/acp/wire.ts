/**
 * Messages of the protocol over the pipes of a process. Lines are bounded before they are parsed, and what is no
 * message, such as a banner or a warning on the wrong stream, is passed over: an agent that chatters is not a
 * broken one.
 */
import type { Readable, Writable } from 'node:stream'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { boundedLines } from '../../model/bounded-lines.ts'
import { parseJson, type JsonLimits } from '../../model/bounded-json.ts'
import { listen } from '../../model/contained.ts'
import { isRecord } from '../../model/json.ts'
import { isRefusal } from '../../model/refusal.ts'

/** A file that an agent shows whole is in one line. */
const messageLimits: JsonLimits = {
  bytesMax: 16 * 1024 * 1024,
  depthMax: 100,
  valuesMax: 200_000,
  fieldsMax: 20_000,
}
/** So many messages may wait for us before the agent has to. */
const waitingMax = 256
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
        garbage = `${garbage}${line.slice(0, garbageUnitsMax)}\n`.slice(-garbageUnitsMax)
      }
      const read = boundedLines(messageLimits.bytesMax, take)
      let ended = false
      listen(stdout, 'data', fail, (piece: Buffer) => {
        read(piece)
        if ((controller.desiredSize ?? 0) < -waitingMax) stdout.pause()
      })
      const end = (): void => {
        if (!ended) controller.close()
        ended = true
      }
      listen(stdout, 'end', broke, end)
      listen(stdout, 'close', broke, end)
      listen(stdout, 'error', broke, fail)
    },
    pull: () => void stdout.resume(),
  })
  listen(stdin, 'error', broke, broke)
  const writable = new WritableStream<AnyMessage>({
    write: (message) =>
      new Promise<void>((resolve, reject) => {
        stdin.write(`${JSON.stringify(message)}\n`, (fault) => (fault == null ? resolve() : reject(fault)))
      }),
  })
  return { readable, writable, garbage: () => garbage }
}
