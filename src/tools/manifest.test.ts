import { expect, test } from 'vitest'
import { readManifests, type Project } from './manifest.ts'

const told = (files: Record<string, string>): Promise<Project> =>
  readManifests(new Set(Object.keys(files)), async (file) => files[file] ?? null)

const pom =
  '<project><parent><artifactId>parent</artifactId></parent><artifactId>shop</artifactId>' +
  '<dependencies><dependency><artifactId>spring-boot-starter</artifactId></dependency></dependencies>' +
  '</project>'

const cases: [string, Record<string, string>, Project][] = [
  [
    'package.json',
    { 'package.json': '{"name":"shop","devDependencies":{"typescript":"7","vue":"3"}}' },
    { name: 'shop', stack: ['Node.js', 'TypeScript', 'Vue'] },
  ],
  [
    'tsconfig.json',
    { 'package.json': '{}', 'tsconfig.json': '' },
    { name: null, stack: ['Node.js', 'TypeScript'] },
  ],
  [
    'Cargo.toml',
    { 'Cargo.toml': '[package]\nname = "shop"\n[dependencies]\ntokio = { version = "1" }\n' },
    { name: 'shop', stack: ['Rust', 'Tokio'] },
  ],
  [
    'pyproject.toml',
    { 'pyproject.toml': '[project]\nname = "shop"\ndependencies = ["FastAPI>=0.1", "x"]\n' },
    { name: 'shop', stack: ['Python', 'FastAPI'] },
  ],
  [
    'pyproject.toml of Poetry',
    { 'pyproject.toml': '[tool.poetry]\nname = "shop"\n[tool.poetry.dependencies]\nDjango = "5"\n' },
    { name: 'shop', stack: ['Python', 'Django'] },
  ],
  ['requirements.txt', { 'requirements.txt': '# x\nflask==3\n' }, { name: null, stack: ['Python', 'Flask'] }],
  [
    'go.mod',
    { 'go.mod': 'module example.com/team/shop/v2\n\nrequire github.com/gin-gonic/gin v1\n' },
    { name: 'shop', stack: ['Go', 'Gin'] },
  ],
  ['pom.xml', { 'pom.xml': pom }, { name: 'shop', stack: ['Java', 'Maven', 'Spring Boot'] }],
  [
    'Gemfile',
    { Gemfile: 'source "x"\n  gem "rails", "8"\n# gem "sinatra"\n' },
    { name: null, stack: ['Ruby', 'Rails'] },
  ],
  [
    'composer.json',
    { 'composer.json': '{"name":"team/shop","require":{"laravel/framework":"12"}}' },
    { name: 'team/shop', stack: ['PHP', 'Laravel'] },
  ],
  ['nothing', { 'notes.txt': 'typescript' }, { name: null, stack: [] }],
]

for (const [name, files, project] of cases) {
  test(`name and stack are told from ${name}`, async () => expect(await told(files)).toEqual(project))
}

test('several manifests add up, and the first name counts', async () => {
  expect(
    await told({
      'Cargo.toml': '[package]\nname = "core"',
      'package.json': '{"name":"web","dependencies":{"react":"19"}}',
    }),
  ).toEqual({ name: 'web', stack: ['Node.js', 'React', 'Rust'] })
})

test('a broken manifest still tells the language', async () => {
  const odd = [
    '{',
    'null',
    '[]',
    '"text"',
    '{"name":1,"dependencies":[]}',
    '{"name":"  ","dependencies":"x"}',
    '{"__proto__":{"name":"x"}}',
  ]
  for (const text of odd)
    expect(await told({ 'package.json': text })).toEqual({ name: null, stack: ['Node.js'] })
  expect(await told({ 'Cargo.toml': '[package\nname=' })).toEqual({ name: null, stack: ['Rust'] })
})

test('manifests made to be slow are read in time', async () => {
  const startedAt = process.hrtime.bigint()
  await told({
    'pom.xml': '<build>'.repeat(37_000),
    Gemfile: '\n'.repeat(262_144),
    'go.mod': 'module\n'.repeat(37_000),
    'CMakeLists.txt': 'project( '.repeat(29_000),
    'mix.exs': 'app: '.repeat(52_000),
  })
  expect(Number(process.hrtime.bigint() - startedAt) / 1e6).toBeLessThan(1000)
})
