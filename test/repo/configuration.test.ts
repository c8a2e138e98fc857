import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Script } from '../../src/adapters/scripted/script.ts'
import { ConfigFile } from '../../src/config-keys.ts'
import { loadConfig } from '../../src/config.ts'
import { limitsDefault } from '../../src/model/limits.ts'
import { standardTools } from '../../src/tools/standard.ts'

const page = readFileSync(fileURLToPath(new URL('../../docs/configuration.md', import.meta.url)), 'utf8')
/** All examples of the page are one file. */
const example = parse([...page.matchAll(/^```toml\n([^]*?)^```/gm)].map(([, text]) => text).join('\n')) as {
  limits: object
  agents: Record<string, { script?: unknown }>
}

test('the page about the configuration has every key, and what it shows is right', () => {
  const wrong = ConfigFile.safeParse({ ...example, agents: { ...example.agents, coder: {} } })
  expect(wrong.error?.issues ?? []).toEqual([])
  expect(Script.safeParse(example.agents['greeter']?.script).error?.issues ?? []).toEqual([])
  expect(keysOf(ConfigFile).filter((key) => !new RegExp(`\\b${key}\\b`).test(page))).toEqual([])
  expect(example.limits).toEqual(limitsDefault)
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
