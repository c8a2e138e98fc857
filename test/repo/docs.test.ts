/** The documentation: every link leads somewhere, every page is in the index, and nothing is described that is gone. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { makeReferences } from '../../scripts/write-docs.ts'

vi.setConfig({ testTimeout: 300_000 })

const root = fileURLToPath(new URL('../..', import.meta.url))
const inDocs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...inDocs.map((name) => `docs/${name}`),
]
const read = (page: string): string => readFileSync(join(root, page), 'utf8')

/** As GitHub makes them from headings. */
const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
const anchorsIn = (page: string): Set<string> =>
  new Set(Array.from(read(page).matchAll(/^#+ (.+)$/gm), ([, heading = '']) => toAnchor(heading)))

function findBroken(page: string): string[] {
  const text = read(page).replaceAll(/```[^]*?```/g, '')
  return Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path = '', anchor] = link.split('#')
      const file = path === '' ? page : relative(root, join(root, dirname(page), path))
      if (!existsSync(join(root, file))) return true
      return anchor !== undefined && file.endsWith('.md') && !anchorsIn(file).has(anchor)
    })
    .map((link) => `${page}: ${link}`)
}

test('every link to a file or a heading leads there', () => {
  expect(pages.flatMap(findBroken)).toEqual([])
})

test('every page of docs/ is in its index', () => {
  const index = read('docs/README.md')
  expect(inDocs.filter((name) => name !== 'README.md' && !index.includes(`(${name})`))).toEqual([])
})

test('every variable that telemetry reads is described', () => {
  const settings = read('src/views/telemetry-settings.ts')
  const named = new Set(Array.from(settings.matchAll(/'(OTEL_[A-Z_]+)'/g), ([, name = '']) => name))
  const page = read('docs/telemetry.md')
  expect([...named].filter((name) => !page.includes(name))).toEqual([])
  expect(named.size).toBeGreaterThan(10)
})

test('the references describe nothing that the server does not have', async () => {
  const made = await makeReferences()
  for (const name of ['tools.md', 'http.md'] as const) {
    const headings = (text: string): string[] => text.match(/^##+ .+$/gm) ?? []
    const present = new Set(headings(made[name]))
    expect(headings(read(`docs/${name}`)).filter((heading) => !present.has(heading))).toEqual([])
  }
})
