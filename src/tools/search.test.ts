import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { search, searchThreads } from './search.ts'
import { containedContract, answerFields, makeWorkspace, refusalIn } from './workspace-contract.ts'

containedContract(search, (path) => ({ pattern: 'SECRET|a', path }))

test('search gives path, line and text of each match, sorted', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('b.txt', 'no\nyes two\r\n')
  await workspace.file('a/x.ts', 'yes one\n')
  expect(await search.run({ pattern: '^yes (one|two)$' }, workspace.context())).toEqual({
    ok: true,
    value: {
      matches: [
        { path: 'a/x.ts', line: 1, text: 'yes one' },
        { path: 'b.txt', line: 2, text: 'yes two' },
      ],
      files_searched: 2,
      truncated: false,
      note: '',
    },
  })
})

test('search leaves out .git, node_modules, links, binary and large files, and says which were too large', async () => {
  const workspace = await makeWorkspace()
  for (const path of ['.git/a', 'node_modules/a', 'sub/node_modules/a']) await workspace.file(path, 'hit')
  await workspace.file('a.bin', 'hit\0')
  await workspace.file('exact.txt', 'hit\n'.padEnd(1_048_576, 'x\n'))
  await workspace.file('large.txt', 'hit\n'.padEnd(1_048_577, 'x\n'))
  await symlink('../work-outside', join(workspace.cwd, 'out'))
  await symlink('../work-outside/secret.txt', join(workspace.cwd, 'out.txt'))
  const found = answerFields(await search.run({ pattern: 'hit|SECRET' }, workspace.context()))
  expect(found).toMatchObject({
    matches: [{ path: 'exact.txt', line: 1, text: 'hit' }],
    note: '1 files over 1 MiB were left out.',
  })
})

test('search takes a file, a directory, and a glob by name or by path', async () => {
  const workspace = await makeWorkspace()
  for (const path of ['a.ts', 'src/b.ts', 'src/deep/c.ts', 'src/d.md']) await workspace.file(path, 'hit')
  const paths = async (input: Record<string, string>): Promise<unknown> => {
    const { matches } = answerFields(await search.run({ pattern: 'hit', ...input }, workspace.context()))
    return Array.isArray(matches) ? matches.map((match) => Object(match).path) : matches
  }
  expect(await paths({ path: 'src/d.md' })).toEqual(['src/d.md'])
  expect(await paths({ path: 'src' })).toEqual(['src/b.ts', 'src/d.md', 'src/deep/c.ts'])
  expect(await paths({ glob: '*.ts' })).toEqual(['a.ts', 'src/b.ts', 'src/deep/c.ts'])
  expect(await paths({ glob: 'src/*.{ts,md}' })).toEqual(['src/b.ts', 'src/d.md'])
  expect(await paths({ glob: 'src/**/*.ts', path: 'src/deep' })).toEqual(['src/deep/c.ts'])
  expect(refusalIn(await search.run({ pattern: 'hit', path: 'none' }, workspace.context()))).toContain(
    'a path that exists',
  )
})

test('search stops at max and says that there may be more', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'hit\n'.repeat(5000))
  expect(answerFields(await search.run({ pattern: 'hit', max: 3 }, workspace.context()))).toMatchObject({
    matches: [{ line: 1 }, { line: 2 }, { line: 3 }],
    truncated: true,
    note: expect.stringContaining('raise max'),
  })
  expect(
    answerFields(await search.run({ pattern: 'hit', max: 99_999 }, workspace.context()))['matches'],
  ).toHaveLength(1000)
})

test('search refuses a bad pattern with the reason, and takes needless escapes', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'a-b\n')
  const message = refusalIn(await search.run({ pattern: '(a' }, workspace.context()))
  expect(message).toContain('pattern: ')
  expect(message).toContain('Unterminated group')
  expect(answerFields(await search.run({ pattern: 'a\\-b' }, workspace.context()))['matches']).toHaveLength(1)
  expect(
    answerFields(await search.run({ pattern: '(?i:A-B)' }, workspace.context()))['matches'],
  ).toHaveLength(1)
})

test('search ends a pattern that backtracks for ever, keeps what it found, and blocks nobody', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'aab\n')
  await workspace.file('b.txt', `${'a'.repeat(60)}!\n`)
  let ticks = 0
  let searching = true
  const ticking = (async () => {
    for (; searching; ticks += 1) await new Promise((resolve) => setImmediate(resolve))
  })()
  const found = answerFields(await search.run({ pattern: '^(a+)+b$' }, workspace.context()))
  searching = false
  await ticking
  expect(found).toMatchObject({
    matches: [{ path: 'a.txt', line: 1 }],
    truncated: true,
    files_searched: null,
    note: expect.stringContaining('simpler pattern'),
  })
  expect(ticks).toBeGreaterThan(1000)
})

test('search stops soon when the turn stops, even inside a pattern that backtracks for ever', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('b.txt', `${'a'.repeat(60)}!\n`)
  const startedAt = process.hrtime.bigint()
  await expect(
    search.run({ pattern: '^(a+)+b$' }, workspace.context(AbortSignal.timeout(300))),
  ).rejects.toMatchObject({ name: 'TimeoutError' })
  expect(Number(process.hrtime.bigint() - startedAt) / 1e6).toBeLessThan(2000)
})

test('64 searches in one answer share a few threads, and every one of them is answered', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'hit\n')
  const all = await Promise.all(
    Array.from({ length: 64 }, () => search.run({ pattern: 'hit' }, workspace.context())),
  )
  expect(searchThreads()).toBeLessThanOrEqual(4)
  for (const answer of all) expect(answerFields(answer)['matches']).toHaveLength(1)
})

test('more searches than may wait are answered at once, and the others still find', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'hit\n')
  const all = await Promise.all(
    Array.from({ length: 200 }, () => search.run({ pattern: 'hit' }, workspace.context())),
  )
  const refused = all.filter((answer) => !answer.ok)
  expect(refused.length).toBeGreaterThan(0)
  for (const answer of refused) expect(refusalIn(answer)).toContain('too many searches')
  expect(all.length - refused.length).toBeGreaterThanOrEqual(64)
  expect(searchThreads()).toBeLessThanOrEqual(4)
})

test('search shows a long line around its match, cut between code points', async () => {
  const workspace = await makeWorkspace()
  for (const shift of ['', 'x']) {
    await workspace.file('a.txt', `${shift}${'😀'.repeat(1000)}hit${'😀'.repeat(1000)}`)
    const { matches } = answerFields(await search.run({ pattern: 'hit' }, workspace.context()))
    const text = Array.isArray(matches) ? String(Object(matches[0]).text) : ''
    expect(text).toContain('😀hit😀')
    expect(text.isWellFormed()).toBe(true)
    expect(Array.from(text)).toHaveLength(240)
  }
})

test('search looks only at the start of a line of 1 MiB, and says so', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', `early${'😀'.repeat(262_000)}late`)
  expect(answerFields(await search.run({ pattern: 'early' }, workspace.context()))['matches']).toHaveLength(1)
  expect(answerFields(await search.run({ pattern: 'late' }, workspace.context()))).toMatchObject({
    matches: [],
    note: expect.stringContaining('1 very long lines'),
  })
})
