/** Bytes into lines of text, each within a bound: a peer that never ends its line cannot fill the memory. */
export class LineTooLong extends Error {
  constructor(bytesMax: number) {
    super(`a line has more than ${bytesMax} bytes`)
  }
}

const lineFeed = 0x0a

/**
 * Takes each piece as it comes. Throws where a line is too long; trust nothing that follows. With `passOver` such a
 * line is dropped whole, and told of.
 */
export function boundedLines(
  bytesMax: number,
  take: (line: string) => void,
  passOver?: () => void,
): (piece: Uint8Array) => void {
  let waiting: Uint8Array[] = []
  let bytes = 0
  const add = (part: Uint8Array): void => {
    bytes += part.length
    if (bytes <= bytesMax) return void waiting.push(part)
    if (passOver === undefined) throw new LineTooLong(bytesMax)
    waiting = []
  }
  return (piece) => {
    let from = 0
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, from)) {
      add(piece.subarray(from, end))
      const line = bytes > bytesMax ? null : decode(waiting)
      waiting = []
      bytes = 0
      from = end + 1
      if (line === null) passOver?.()
      else take(line)
    }
    if (from < piece.length) add(piece.subarray(from))
  }
}

function decode(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder()
  const text = parts.map((part) => decoder.decode(part, { stream: true })).join('') + decoder.decode()
  return text.endsWith('\r') ? text.slice(0, -1) : text
}
