/** The tests of the rules, on rules that hold all their mutants. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { mutantsPlugin } from './plugin.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const own = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export default defineConfig({
  root,
  plugins: [
    mutantsPlugin(root),
    {
      name: 'few-runs',
      enforce: 'pre',
      resolveId: (id, importer) =>
        id === 'fast-check' && importer?.includes('/src/model/') === true ? own('few-runs.ts') : null,
    },
  ],
  test: {
    // A mutant may leave a promise that nobody looks at: that is not the tests' fault.
    dangerouslyIgnoreUnhandledErrors: true,
    include: ['src/model/*.test.ts'],
    exclude: ['src/model/secret-scan-linear.test.ts'],
    runner: own('runner.ts'),
    setupFiles: [own('switch.ts')],
    isolate: false,
    // The ids of mutants depend on all files of the rules, and a cache only looks at one.
    fsModuleCache: false,
    fileParallelism: false,
    testTimeout: 3_600_000,
    reporters: ['dot'],
  },
})
