/**
 * Builds the page into web/dist. Plain JavaScript: an install, which builds it too, may run on an older Node.
 */
import { renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

// Whoever starts this may test: the page is built as it is used.
process.env.NODE_ENV = 'production'

const place = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const [configFile, built, made] = [
  place('web/vite.config.ts'),
  place('web/dist'),
  place(`node_modules/.page-${process.pid}`),
]

// Beside its place, and then moved there: whoever serves it meanwhile never sees a half.
await build({ configFile, logLevel: 'warn', build: { outDir: made } })
rmSync(built, { recursive: true, force: true })
renameSync(made, built)
