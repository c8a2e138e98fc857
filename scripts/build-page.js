/** Builds the page into web/dist. Plain JavaScript, since an install may run it on an older Node. */
import { renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

// A test may run this: the page is built for production anyway.
process.env.NODE_ENV = 'production'

const place = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const [configFile, built, made] = [
  place('web/vite.config.ts'),
  place('web/dist'),
  place(`node_modules/.page-${process.pid}`),
]

// Built elsewhere and then moved, so that a running server never serves half of it.
await build({ configFile, logLevel: 'warn', build: { outDir: made } })
rmSync(built, { recursive: true, force: true })
renameSync(made, built)
