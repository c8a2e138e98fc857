import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'smol-toml'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { Script } from '../../src/adapters/scripted/script.ts'
import { ConfigFile } from '../../src/config-keys.ts'
import { loadConfig } from '../../src/config.ts'
import { limitsDefault } from '../../src/model/limits.ts'
import { standardTools } from '../../src/tools/standard.ts'

type Example = Record<string, unknown> & { limits: object; agents: Record<string, { script?: unknown }> }

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (name: string): string => readFileSync(join(root, name), 'utf8')
const listExamples = (text: string): string[] =>
  Array.from(text.matchAll(/^```toml\n([^]*?)^```/gm), ([, toml = '']) => toml)
const page = read('docs/configuration.md')
/** All examples of the page are one file. */
const example = parse(listExamples(page).join('\n')) as Example

const place = mkdtempSync(join(tmpdir(), 'tieline-examples-'))
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** What is wrong in a file that has this, or what it is warned of. */
async function findWrong(config: object): Promise<string[]> {
  const file = join(place, 'tieline.json')
  writeFileSync(file, JSON.stringify(config))
  try {
    const { config: loaded, warnings } = await loadConfig({ file, cwd: place, env: {}, home: place })
    const names = standardTools(() => 0, []).map(({ name }) => name)
    const tools = loaded.agents.flatMap(({ tools: named, mcpServers }) =>
      named.filter((name) => !Object.keys(mcpServers).some((server) => name.startsWith(`${server}_`))),
    )
    const strange = tools.filter((name) => name !== '*' && !names.includes(name))
    return [...warnings, ...strange.map((name) => `there is no tool ${name}`)]
  } catch (error) {
    return [String(error)]
  }
}

test('the page about the configuration has every key, and what it shows is right', () => {
  const wrong = ConfigFile.safeParse({ ...example, agents: { ...example.agents, coder: {} } })
  expect(wrong.error?.issues ?? []).toEqual([])
  expect(Script.safeParse(example.agents['greeter']?.script).error?.issues ?? []).toEqual([])
  expect(keysOf(ConfigFile).filter((key) => !new RegExp(`\\b${key}\\b`).test(page))).toEqual([])
  expect(example.limits).toEqual(limitsDefault)
})

test('every example of a configuration is right by itself, with the agents and providers that it names', async () => {
  const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]
  const examples = pages
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => listExamples(read(name)).map((toml) => ({ name, toml })))
  expect(examples.length).toBeGreaterThan(12)
  for (const { name, toml } of examples) {
    const given = parse(toml)
    const { agents = {}, providers = {} } = given as { agents?: object; providers?: object }
    const whole = {
      ...given,
      agents: { coder: {}, claude: {}, ...agents },
      providers: { ...(example['providers'] as object), ...providers },
    }
    expect([name, toml, await findWrong(whole)]).toEqual([name, toml, []])
  }
})

test('recipes and the first page show configurations that need nothing else', async () => {
  const examples = [...listExamples(read('docs/recipes.md')), ...listExamples(read('README.md'))]
  for (const toml of examples) expect([toml, await findWrong(parse(toml))]).toEqual([toml, []])
  expect(await findWrong({ agents: { coder: { tools: ['reed'], model: 'local/qwen3' } } })).toHaveLength(2)
})

test('it names every tool', () => {
  expect(
    standardTools(() => 0, [])
      .map((tool) => tool.name)
      .filter((name) => !page.includes(`\`${name}\``)),
  ).toEqual([])
})

test('what it says of defaults holds', async () => {
  const { config } = await loadConfig({ cwd: '/nowhere', env: {}, home: '/home/me' })
  expect(config.server).toEqual({
    port: 8283,
    host: '127.0.0.1',
    dataDir: '/home/me/.local/share/tieline',
    auth: 'auto',
    sandbox: 'auto',
  })
  expect(config.mail).toMatchObject({ storage: 'sqlite', cdc: true })
  const usual = ConfigFile.parse({})
  const shown = Array.from(
    page.matchAll(/^\[(\w+)\] +# the defaults/gm),
    ([, name]) => name as keyof typeof usual,
  )
  expect(shown.map((name) => [name, example[name]])).toEqual(shown.map((name) => [name, usual[name]]))
  expect(shown).toEqual(expect.arrayContaining(['server', 'store', 'sandbox', 'limits', 'mail', 'wake']))
})

/** The names of all keys of a schema, at every depth, but for older spellings. */
function keysOf(schema: z.core.$ZodType): string[] {
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, field]) => [
      ...(key.includes('_') ? [] : [key]),
      ...keysOf(field as z.core.$ZodType),
    ])
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return keysOf(schema.unwrap())
  if (schema instanceof z.ZodRecord) return keysOf(schema.valueType)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(keysOf)
  return schema instanceof z.ZodArray ? keysOf(schema.element) : []
}
