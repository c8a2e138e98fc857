/** Runs after the compiler: puts the one encoding that is used into `dist`, because the whole of gpt-tokenizer would be 30 MB at every install. */
import { readFile, rm, stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const file = `${root}dist/adapters/tokens/o200k.js`

const license = await readFile(`${root}node_modules/gpt-tokenizer/LICENSE`, 'utf8')
const bundle = await rolldown({ input: file, cwd: root, platform: 'node', logLevel: 'warn', treeshake: true })
const { output } = await bundle.write({ file, format: 'esm', minify: false, banner: `/*! Contains gpt-tokenizer.\n\n${license.trim()}\n*/` })
await bundle.close()

const left = output.flatMap((part) => (part.type === 'chunk' ? [...part.imports, ...part.dynamicImports] : []))
if (left.length > 0) throw new Error(`the bundle still imports ${left.join(', ')}`)
// Its types would name the package that is no longer there; nothing outside this folder needs them.
await rm(`${root}dist/adapters/tokens/o200k.d.ts`, { force: true })
console.log(`dist/adapters/tokens/o200k.js: ${((await stat(file)).size / 1e6).toFixed(1)} MB`)
