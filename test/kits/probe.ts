/** What a probe finds in a text, asked at every pair that calls for it, as the scan would. */
import type { ProbeSet } from '../../src/model/secret-probes.ts'

export function findWith({ pairs, probe }: ProbeSet, text: string, strict = false): string[] {
  const look = { text, number: 1, from: 0, strict }
  const found: string[] = []
  for (let at = 1; at < text.length; at += 1) {
    if (!pairs.includes(text.slice(at - 1, at + 1)) || at <= look.from) continue
    const one = probe(look, at)
    if (one === null) continue
    found.push(text.slice(one.start, one.end))
    look.from = one.end
  }
  return found
}
