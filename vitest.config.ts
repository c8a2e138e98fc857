import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Many tests wait for processes of their own, so a machine with two cores runs three files at once; by
  // default it would be one.
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // For tests that hang. The first test of a file also waits for the server's modules, which takes half a
    // minute while others keep the machine busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The usual second is too short while others keep the machine busy.
    expect: { poll: { timeout: 20_000 } },
    maxWorkers: Math.max(3, availableParallelism() - 1),
  },
})
