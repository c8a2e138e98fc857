/** Reads server-sent events: the data of each, as it arrives. An event beyond the bound throws. */
const lineEnd = /\r\n|\n|\r/

/** R11: in UTF-16 units. Our own events are shorter: they hold at most one result. */
const eventUnitsMax = 16 * 1024 * 1024

export async function* eventData(
  body: ReadableStream<Uint8Array>,
  unitsMax = eventUnitsMax,
): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  let units = 0
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const text = decoder.decode(read.value, { stream: true })
      const halved = rest.endsWith('\r')
      rest += text
      if (rest.length + units > unitsMax)
        throw new Error(`one event of the stream is longer than ${unitsMax} characters`)
      // Only the new text is searched: otherwise an endless line would be read again with each piece.
      if (!halved && !lineEnd.test(text)) continue
      // A carriage return at the end may be half of a line break.
      const ready = rest.endsWith('\r') ? rest.slice(0, -1) : rest
      const lines = ready.split(lineEnd)
      rest = (lines.pop() ?? '') + rest.slice(ready.length)
      for (const line of lines) {
        if (line.startsWith('data:')) {
          data.push(line.slice(5).replace(/^ /, ''))
          units += line.length
        } else if (line === '') {
          if (data.length > 0) yield data.join('\n')
          data = []
          units = 0
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
