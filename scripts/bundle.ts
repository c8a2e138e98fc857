/** Runs after the compiler and bundles what would be slow or large to load from many files. */
import { chmod, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown, type ChunkingContext, type OutputChunk } from 'rolldown'
import { readyHelpFile, type ReadyHelp } from '../src/cli/ready-help.ts'
import { readyToolsFile, type ReadyTools } from '../src/cli/ready-tools.ts'
import { loadBuiltins } from './bundle-plugins.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const tokenizer = join(root, 'dist/adapters/tokens/o200k.js')
const program = join(root, 'dist/program')
const apiPage = join(root, 'dist/api-page')
/** What users import, the plugin that OpenCode loads by its path, and the workers that are started by theirs. */
const entries = [
  'index',
  'client/index',
  'server/index',
  'adapters/opencode/index',
  'adapters/opencode/plugin',
  'tools/search-worker',
  'server/peer-worker',
  'store/file-check-worker',
  'store/checkpoint-worker',
  'store/sync-worker',
  'views/agentfs-worker',
  'adapters/schemas/schema-worker',
]

/** Only the encoding that we use: all of gpt-tokenizer would add 30 MB to every install. */
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
  const left = selectChunks(output).flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports])
  if (left.length > 0) throw new Error(`the bundle still imports ${left.join(', ')}`)
  // Its types import the package that is bundled now, and nothing outside this folder needs them.
  await rm(tokenizer.replace(/\.js$/, '.d.ts'), { force: true })
  console.log(`dist/adapters/tokens/o200k.js: ${((await stat(tokenizer)).size / 1e6).toFixed(1)} MB`)
}

/** All that a module imports, directly or through others, but for what is loaded later. */
function gatherImports(
  context: Pick<ChunkingContext, 'getModuleInfo'>,
  names: readonly string[],
): Set<string> {
  const found = new Set<string>()
  const pending = names.map((name) => join(root, 'dist', `${name}.js`))
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const imported = found.has(id) ? null : (context.getModuleInfo(id)?.importedIds ?? null)
    if (imported === null) continue
    found.add(id)
    pending.push(...imported)
  }
  return found
}

/**
 * What every command loads, and what a server does, in a file each: finding 100 files took a fifth of the start.
 * What `tieline mcp` has in common with a server stands apart, so that it does not load one.
 */
function placeModules(context: Pick<ChunkingContext, 'getModuleInfo'>): ReadonlyMap<string, string> {
  const relayed = gatherImports(context, [
    'adapters/mcp/serve-stdio',
    'client-tools',
    'config',
    'config-path',
  ])
  const placed = new Map<string, string>()
  // Loaded once the server listens.
  for (const id of gatherImports(context, ['open-doors'])) placed.set(id, 'doors')
  for (const id of gatherImports(context, ['open-server']))
    placed.set(id, relayed.has(id) ? 'relayed' : 'served')
  for (const id of gatherImports(context, ['cli/command-line'])) placed.set(id, 'common')
  // Help is printed with these alone.
  for (const id of gatherImports(context, ['cli/show/terminal'])) placed.set(id, 'shown')
  return placed
}

/** The command line with everything it loads: finding and reading 700 small files took longer than running. */
async function bundleProgram(): Promise<void> {
  await rm(program, { recursive: true, force: true })
  const bundle = await rolldown({
    input: { main: join(root, 'dist/cli/main.js') },
    cwd: root,
    platform: 'node',
    logLevel: 'warn',
    external: [tokenizer],
    plugins: [loadBuiltins],
    checks: { pluginTimings: false, ineffectiveDynamicImport: false },
  })
  let placed: ReadonlyMap<string, string> | null = null
  const { output } = await bundle.write({
    dir: program,
    format: 'esm',
    minify: false,
    chunkFileNames: '[name].js',
    codeSplitting: {
      // What a file imports joins it, unless it was placed before: so what the others import comes first.
      groups: ['shown', 'common', 'relayed', 'served', 'doors'].map((file, index) => ({
        name: (id, context) => ((placed ??= placeModules(context)).get(id) === file ? file : null),
        priority: 10 - index,
      })),
    },
  })
  await bundle.close()
  const chunks = selectChunks(output)
  await writeFile(join(program, 'LICENSES.txt'), await collectLicenses(chunks))
  await writeHelp()
  await writeTools()
  await writeEmptyLog()
  reportSize('dist/program', chunks)
}

const compiled = (name: string): string => pathToFileURL(join(root, 'dist', `${name}.js`)).href

/** Described once, so that listing them makes no schemas. */
async function writeTools(): Promise<void> {
  const { ConfigFile } = (await import(compiled('config-keys'))) as typeof import('../src/config-keys.ts')
  const { listClientTools } = (await import(
    compiled('client-tools')
  )) as typeof import('../src/client-tools.ts')
  const { tools, subagent } = ConfigFile.parse({})
  const ready: ReadyTools = { settings: { tools, subagent }, list: listClientTools({ tools, subagent }) }
  await writeFile(join(program, readyToolsFile), JSON.stringify(ready))
}

/** Made once, so that a new data directory needs no migrations. */
async function writeEmptyLog(): Promise<void> {
  const { openDatabase } = (await import(
    compiled('store/directory')
  )) as typeof import('../src/store/directory.ts')
  const file = join(root, 'dist/empty-log.db')
  for (const ending of ['', '-wal', '-shm']) await rm(`${file}${ending}`, { force: true })
  openDatabase(file, null).close()
  await chmod(file, 0o644)
}

/** Rendered once, so that asking for help loads no command. */
async function writeHelp(): Promise<void> {
  const { commands } = (await import(compiled('cli/commands'))) as typeof import('../src/cli/commands.ts')
  const { renderHelp } = (await import(compiled('cli/help'))) as typeof import('../src/cli/help.ts')
  const { version } = (await import(compiled('version'))) as typeof import('../src/version.ts')
  const help: ReadyHelp = {
    version: `${version}\n`,
    all: `${renderHelp(commands, null)}\n`,
    commands: Object.fromEntries(
      commands.map((command) => [command.name, `${renderHelp(commands, command)}\n`]),
    ),
  }
  await writeFile(join(program, readyHelpFile), JSON.stringify(help))
}

/** Our own modules only, so that a program and the library share their packages. */
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
  const chunks = selectChunks(output)
  await removeCompiled()
  for (const { fileName, code } of chunks) {
    await mkdir(dirname(join(root, 'dist', fileName)), { recursive: true })
    await writeFile(join(root, 'dist', fileName), code)
  }
  reportSize('dist', chunks)
}

function reportSize(folder: string, chunks: readonly OutputChunk[]): void {
  const megabytes = chunks.reduce((sum, { code }) => sum + code.length, 0) / 1e6
  console.log(`${folder}: ${megabytes.toFixed(1)} MB in ${chunks.length} files`)
}

/** Removes what the bundles replace. The type declarations stay. */
async function removeCompiled(): Promise<void> {
  for (const entry of await readdir(join(root, 'dist'), { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    if (entry.isFile() && file.endsWith('.js') && file !== tokenizer && !file.startsWith(program))
      await rm(file)
  }
}

/** The files of Swagger UI, without the plugin that they come with. */
async function copyApiPage(): Promise<void> {
  const from = join(root, 'node_modules/@fastify/swagger-ui')
  for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'])
    await cp(join(from, 'static', name), join(apiPage, name))
  await cp(join(from, 'LICENSE'), join(apiPage, 'LICENSE'))
}

const selectChunks = (output: readonly { type: string }[]): OutputChunk[] =>
  output.filter((part): part is OutputChunk => part.type === 'chunk')

/** The licences of the bundled packages ask to be passed on with their code. */
async function collectLicenses(chunks: readonly OutputChunk[]): Promise<string> {
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
      return `${name} ${version} (${license ?? 'see below'})\n\n${(await readLicense(directory)).trim()}\n`
    }),
  )
  return texts.join(`\n${'-'.repeat(72)}\n\n`)
}

const licenseFiles = 'LICENSE LICENSE.md LICENSE.txt license license.md LICENCE License'.split(' ')

async function readLicense(directory: string): Promise<string> {
  for (const name of licenseFiles) {
    const text = await readFile(join(directory, name), 'utf8').catch(() => null)
    if (text !== null) return text
  }
  return 'The package has no licence file; its package.json names the terms.'
}

await bundleTokenizer()
await bundleProgram()
await bundleLibrary()
await copyApiPage()
