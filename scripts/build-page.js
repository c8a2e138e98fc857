/** Builds the page into web/dist. Runs after an install too, so that a fresh clone has it; where Vite was left out of the install, it says so and goes on. Plain JavaScript: an install may run on an older Node. */
import { renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Whoever starts this may test: the page is built as it is used.
process.env.NODE_ENV = 'production'

const place = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const [configFile, built, made] = [place('web/vite.config.ts'), place('web/dist'), place(`node_modules/.page-${process.pid}`)]

const vite = await import('vite').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  console.warn('tieline: the page was not built, since Vite is not installed (it is a development dependency)')
  return null
})
if (vite !== null) {
  // Beside its place, and then moved there: whoever serves it meanwhile never sees a half.
  await vite.build({ configFile, logLevel: 'warn', build: { outDir: made } })
  rmSync(built, { recursive: true, force: true })
  renameSync(made, built)
}
