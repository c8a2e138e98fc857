/** Chance from a seed: 32-bit integer arithmetic only, so that every engine draws the same numbers. */

/** A number from a seed, a name and a count: leaving one event out does not reshuffle the others. */
export function mix(seed: number, name: string, nth: number): number {
  let state = Math.imul(2166136261 ^ seed, 16777619) ^ nth
  for (let index = 0; index < name.length; index += 1)
    state = Math.imul(state ^ name.charCodeAt(index), 16777619)
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d)
  state = Math.imul(state ^ (state >>> 12), 0x297a2d39)
  return (state ^ (state >>> 15)) >>> 0
}

/** The generator sfc32. */
export class Random {
  #a: number
  #b: number
  #c: number
  #d = 1

  constructor(seed: number, stream: string) {
    this.#a = mix(seed, stream, 0)
    this.#b = Math.imul(seed, 0x9e3779b1) >>> 0
    this.#c = (seed ^ 0x85ebca6b) >>> 0
    for (let round = 0; round < 12; round += 1) this.next()
  }

  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    return count <= 1 ? 0 : this.next() % count
  }

  /** True `percent` times in a hundred. */
  chance(percent: number): boolean {
    return this.below(100) < percent
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T
  }
}
