/**
 * Two roots of two hops whose last calls would close a ring of four sessions, made in the same moment: neither
 * names a session of the other, so only the keys of those that wait keep the two apart (R5).
 */
import type { Random } from './random.ts'
import type { Act, Root, Script } from './plan.ts'

const call = (agent: number, script: number): Act => ({
  do: 'call',
  calls: [{ tool: 'call_agent', agent, script }],
})

export function addCrossing(random: Random, roots: Root[], scripts: Script[]): void {
  const at = random.below(6) * 700 + 350
  const thinkMs = 100 + random.below(100)
  const think: Act = { do: 'think', ms: thinkMs, tokens: 1 }
  const last = scripts.length - 1
  for (const [first, second, third] of [
    [0, 1, 2],
    [2, 3, 0],
  ] as const) {
    const next = scripts.length
    scripts.push(
      { acts: [call(second, next + 1)], end: 'answer', lateMs: 1 },
      { acts: [think, call(third, last)], end: 'answer', lateMs: 1 },
    )
    roots.push({ at, node: random.below(3), agent: first, main: true, script: next })
  }
}

/** Each may call the next, and the last is as deep as calls go. */
const chain = [0, 2, 1, 4, 3, 5] as const

/** One root of five hops. */
export function addChain(random: Random, roots: Root[], scripts: Script[]): void {
  const first = scripts.length
  const at = random.below(5000)
  chain.forEach((_, index) => {
    const next = chain[index + 1]
    const acts = next === undefined ? [] : [call(next, first + index + 1)]
    scripts.push({ acts, end: 'answer', lateMs: 1 })
  })
  roots.push({ at, node: random.below(4), agent: chain[0], main: true, script: first })
}
