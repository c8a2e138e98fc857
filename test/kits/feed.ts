/** The feed of events as it is read, and the log that it is compared with. */
import { type Frame, type Served } from './http.ts'

export const seqs = (frames: readonly Frame[]): string[] =>
  frames.flatMap((frame) => (frame.type === 'event' && frame.seq !== undefined ? [frame.seq] : []))

/** What the log has of some sessions, as numbers. */
export async function logged({ line }: Served, sessions?: readonly `ses_${string}`[]): Promise<string[]> {
  const found: string[] = []
  for (let after = 0; ;) {
    const page = await line.store.read(after, sessions === undefined ? {} : { sessions }, 500)
    if (page.events.length === 0) return found
    found.push(...page.events.map((stored) => String(stored.seq)))
    after = page.next
  }
}

export type Stream = { text: string; status: number; ended: boolean; ids(): string[]; stop(): void }

export async function stream(url: string, query = '', headers: Record<string, string> = {}): Promise<Stream> {
  const stop = new AbortController()
  const response = await fetch(`${url}/api/events${query}`, { headers, signal: stop.signal })
  const read: Stream = {
    text: '',
    status: response.status,
    ended: false,
    ids: () => [...read.text.matchAll(/^id: (\d+)$/gm)].map((match) => match[1] ?? ''),
    stop: () => stop.abort(),
  }
  const body = response.body ?? new ReadableStream()
  void (async () => {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) read.text += chunk
  })()
    .catch(() => undefined)
    .finally(() => (read.ended = true))
  return read
}
