/**
 * Runs after the compiler: puts what would be slow or large to load from many files into one place in `dist`.
 */
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown, type OutputChunk } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const tokenizer = join(root, 'dist/adapters/tokens/o200k.js')
const program = join(root, 'dist/program')
const apiPage = join(root, 'dist/api-page')
/** What others import, and what we start by its path. */
const entries = [
  'index',
  'client/client',
  'serve',
  'adapters/opencode/plugin',
  'tools/search-worker',
  'views/agentfs-worker',
  'adapters/schemas/schema-worker',
]

/** The one encoding that is used: the whole of gpt-tokenizer would be 30 MB at every install. */
async function bundleTokenizer(): Promise<void> {
  const license = await readFile(join(root, 'node_modules/gpt-tokenizer/LICENSE'), 'utf8')
  const bundle = await rolldown({
    input: tokenizer,
    cwd: root,
    platform: 'node',
    logLevel: 'warn',
    treeshake: true,
  })
  const { output } = await bundle.write({
    file: tokenizer,
    format: 'esm',
    minify: false,
    banner: `/*! Contains gpt-tokenizer.\n\n${license.trim()}\n*/`,
  })
  await bundle.close()
  const left = chunksOf(output).flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports])
  if (left.length > 0) throw new Error(`the bundle still imports ${left.join(', ')}`)
  // Its types would name the package that is no longer there; nothing outside this folder needs them.
  await rm(tokenizer.replace(/\.js$/, '.d.ts'), { force: true })
  console.log(`dist/adapters/tokens/o200k.js: ${((await stat(tokenizer)).size / 1e6).toFixed(1)} MB`)
}

/** The command line with all that it loads: some 700 small files took longer to find and read than to run. */
async function bundleProgram(): Promise<void> {
  await rm(program, { recursive: true, force: true })
  const bundle = await rolldown({
    input: { main: join(root, 'dist/cli/main.js') },
    cwd: root,
    platform: 'node',
    logLevel: 'warn',
    external: [tokenizer],
    checks: { pluginTimings: false, ineffectiveDynamicImport: false },
  })
  const { output } = await bundle.write({
    dir: program,
    format: 'esm',
    minify: false,
    chunkFileNames: '[name].js',
  })
  await bundle.close()
  const chunks = chunksOf(output)
  await writeFile(join(program, 'LICENSES.txt'), await licensesOf(chunks))
  console.log(
    `dist/program: ${(chunks.reduce((sum, { code }) => sum + code.length, 0) / 1e6).toFixed(1)} MB in ${chunks.length} files`,
  )
}

/** Our own modules only: whoever imports the library shares its packages with it. */
async function bundleLibrary(): Promise<void> {
  const input = Object.fromEntries(entries.map((name) => [name, join(root, 'dist', `${name}.js`)]))
  const bundle = await rolldown({
    input,
    cwd: root,
    platform: 'node',
    logLevel: 'warn',
    external: (id) => id === tokenizer || !/^[./]/.test(id),
    checks: { pluginTimings: false, ineffectiveDynamicImport: false },
  })
  const { output } = await bundle.generate({
    format: 'esm',
    minify: false,
    entryFileNames: '[name].js',
    chunkFileNames: 'library/[name].js',
  })
  await bundle.close()
  const chunks = chunksOf(output)
  await removeCompiled()
  for (const { fileName, code } of chunks) {
    await mkdir(dirname(join(root, 'dist', fileName)), { recursive: true })
    await writeFile(join(root, 'dist', fileName), code)
  }
  console.log(
    `dist: ${(chunks.reduce((sum, { code }) => sum + code.length, 0) / 1e6).toFixed(1)} MB in ${chunks.length} files`,
  )
}

/** Their types stay where they are. */
async function removeCompiled(): Promise<void> {
  for (const entry of await readdir(join(root, 'dist'), { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    if (entry.isFile() && file.endsWith('.js') && file !== tokenizer && !file.startsWith(program))
      await rm(file)
  }
}

/** The files of the page to try the API, without the plugin that they come with. */
async function copyApiPage(): Promise<void> {
  const from = join(root, 'node_modules/@fastify/swagger-ui')
  for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'])
    await cp(join(from, 'static', name), join(apiPage, name))
  await cp(join(from, 'LICENSE'), join(apiPage, 'LICENSE'))
}

const chunksOf = (output: readonly { type: string }[]): OutputChunk[] =>
  output.filter((part): part is OutputChunk => part.type === 'chunk')

/** What the authors of the packages inside ask for: their terms go where their code goes. */
async function licensesOf(chunks: readonly OutputChunk[]): Promise<string> {
  const directories = new Set(
    chunks.flatMap((chunk) =>
      chunk.moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
    ),
  )
  const texts = await Promise.all(
    [...directories].toSorted().map(async (directory) => {
      const { name, version, license } = JSON.parse(
        await readFile(join(directory, 'package.json'), 'utf8'),
      ) as { name: string; version: string; license?: string }
      return `${name} ${version} (${license ?? 'see below'})\n\n${(await licenseIn(directory)).trim()}\n`
    }),
  )
  return texts.join(`\n${'-'.repeat(72)}\n\n`)
}

async function licenseIn(directory: string): Promise<string> {
  for (const name of [
    'LICENSE',
    'LICENSE.md',
    'LICENSE.txt',
    'license',
    'license.md',
    'LICENCE',
    'License',
  ]) {
    const text = await readFile(join(directory, name), 'utf8').catch(() => null)
    if (text !== null) return text
  }
  return `No file with terms came with it; they stand in its package.json.`
}

await bundleTokenizer()
await bundleProgram()
await bundleLibrary()
await copyApiPage()
