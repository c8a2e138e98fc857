/**
 * Reads a stream of server-sent events: the data of each, as it comes. An event that is longer than the bound
 * ends the reading with a fault.
 */
const lineEnd = /\r\n|\n|\r/

/** R11: in UTF-16 units. Longer than any event of ours, which hold at most a result. */
export const eventUnitsMax = 16 * 1024 * 1024

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
      // Only what is new is looked at, or a line that never ends would be read again with each piece of it.
      if (!halved && !lineEnd.test(text)) continue
      // A lone carriage return at the end may be half of a line's end.
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
