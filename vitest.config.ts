import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const own = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // A worker loads the sources once, and not once for each of several hundred files.
    isolate: false,
    runner: own('test/kits/runner.ts'),
    // Tests that measure collect first what those before them left.
    execArgv: ['--expose-gc'],
    // Many tests wait for processes of their own, so a machine with two cores runs three files at once; by
    // default it would be one.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    // What Node compiles for a program that a test starts is kept for the next one.
    env: { NODE_COMPILE_CACHE: own('node_modules/.cache/compiled') },
    // For tests that hang. The first test of a file also waits for the server's modules, which takes half a
    // minute while others keep the machine busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The usual second is too short while others keep the machine busy.
    expect: { poll: { timeout: 20_000 } },
  },
})
