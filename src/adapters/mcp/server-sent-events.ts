/** Reads a stream of server-sent events: the data of each, as it comes. */
const lineEnd = /\r\n|\n|\r/

export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true })
    // A lone carriage return at the end may be half of a line's end.
    const ready = rest.endsWith('\r') ? rest.slice(0, -1) : rest
    const lines = ready.split(lineEnd)
    rest = (lines.pop() ?? '') + rest.slice(ready.length)
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
      else if (line === '' && data.length > 0) {
        yield data.join('\n')
        data = []
      }
    }
  }
}
