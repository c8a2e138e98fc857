/** What a fake model is asked and says, whatever the provider calls it. */

export type Asked = { system: string; user: string; results: string[]; toolRounds: number; stream: boolean }

/** `cached` and `cacheWrite` are parts of `input`, `reasoning` is one of `output`. */
export type FakeUsage = {
  input: number
  output: number
  cached?: number
  cacheWrite?: number
  reasoning?: number
}

export type Said = {
  text: string
  tools: { id: string; name: string; namespace?: string; input: unknown }[]
  usage: FakeUsage | null
  finish: 'stop' | 'length' | 'tools'
}

/** `event` is the name of a server-sent event, where the wire names them. */
export type Piece = { event?: string; data: unknown }

export type Wire = {
  fits: (path: string) => boolean
  read: (body: Record<string, unknown>, path: string) => Asked
  stream: (said: Said) => Piece[]
  whole: (said: Said) => unknown
  error: (status: number, message: string) => unknown
}

export const model = 'fake'

export const record = (value: unknown): Record<string, unknown> =>
  value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {}

export const list = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.map(record) : []

export const inputText = (input: unknown): string =>
  typeof input === 'string' ? input : JSON.stringify(input)

/** Content is a text or a list of parts, in all wires. */
export const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : list(content)
        .map((part) => (typeof part['text'] === 'string' ? part['text'] : ''))
        .join('')

/** Pieces of a few code points, so that readers see text that comes in parts. */
export const partsOf = (text: string): string[] => {
  const points = Array.from(text)
  return Array.from({ length: Math.ceil(points.length / 6) }, (_, index) =>
    points.slice(index * 6, index * 6 + 6).join(''),
  )
}
