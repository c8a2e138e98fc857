/** The faults of a plan. */
import type { Fault } from './plan.ts'
import { mix, Random } from './random.ts'

export function makeFaults(random: Random, horizonMs: number): Fault[] {
  const faults: Fault[] = []
  // Draws for every kind, used or not, so that one kind does not shift the others.
  const some = (percent: number, most: number, make: (at: number, node: number) => Fault): void => {
    const used = random.chance(percent)
    const many = 1 + random.below(most)
    for (let left = many; left > 0; left -= 1) {
      const fault = make(random.below(horizonMs), random.below(4))
      if (used) faults.push(fault)
    }
  }
  some(30, 2, (at, node) => ({ kind: 'crash', at, node, ms: 50 + random.below(4000) }))
  // Longer than a lease, or the owner would not be stale when it goes on.
  some(25, 2, (at, node) => ({
    kind: 'freeze',
    at,
    node,
    ms: random.chance(70) ? 5200 + random.below(2500) : random.below(3000),
  }))
  some(20, 1, (at, node) => ({
    kind: 'cut',
    at,
    node,
    ms: random.chance(60) ? 5200 + random.below(2500) : random.below(3000),
    how: random.pick(['hang', 'throw'] as const),
  }))
  for (const kind of ['slow', 'delay'] as const)
    some(20, 2, (at, node) => ({
      kind,
      at,
      node,
      ms: 200 + random.below(3000),
      byMs: 1 + random.below(400),
    }))
  some(30, 3, (at, node) => ({
    kind: 'commit',
    at,
    node,
    count: 1 + random.below(3),
    how: random.pick(['failed', 'unknown'] as const),
  }))
  some(35, 3, (at, node) => ({
    kind: 'hints',
    at,
    node,
    ms: 500 + random.below(4000),
    how: random.pick(['lost', 'late', 'doubled'] as const),
  }))
  some(15, 1, (at, node) => ({ kind: 'stop', at, node, ms: 100 + random.below(2000) }))
  some(10, 2, (at, node) => ({
    kind: 'disk',
    at,
    node,
    ms: 100 + random.below(1500),
    how: random.pick(['full', 'kept', 'lost', 'torn'] as const),
  }))
  some(8, 2, (at, node) => ({
    kind: 'clock',
    at,
    node,
    ms: 200 + random.below(4000),
    byMs: (random.chance(50) ? 1 : -1) * (500 + random.below(15_000)),
  }))
  return faults
}

const upgradeMs = 9000

/**
 * In some plans every node is replaced by one of a newer version, one after the other, and in a few of them one
 * comes back in its old version. A disk and a clock of the store belong to one process, and so do versions.
 */
export function makeUpgrade(seed: number, nodes: number, others: readonly Fault[]): Fault[] {
  if (nodes < 2 || mix(seed, 'upgrade', 0) % 4 !== 0) return []
  if (others.some(({ kind }) => kind === 'disk' || kind === 'clock')) return []
  const random = new Random(seed, 'upgrade')
  const replace = (node: number, format: number): Fault => ({
    kind: 'version',
    at: random.below(upgradeMs),
    node,
    ms: 50 + random.below(1500),
    how: random.pick(['crash', 'stop'] as const),
    format,
  })
  const newer = Array.from({ length: nodes }, (_, node) => replace(node, 2))
  const back = { ...replace(random.below(nodes), 1), at: upgradeMs }
  return random.chance(30) ? [...newer, back] : newer
}
