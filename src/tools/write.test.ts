import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { containedContract, makeWorkspace, refusalIn } from './workspace-contract.ts'
import { write } from './write.ts'

containedContract(write, (path) => ({ path, content: 'mine' }))

test('write creates directories and reports bytes, not characters', async () => {
  const workspace = await makeWorkspace()
  const answer = await write.run({ path: 'a/b/c.txt', content: 'ü😀' }, workspace.context())
  expect(answer).toEqual({ ok: true, value: { path: 'a/b/c.txt', bytes: 6, created: true } })
  expect(await readFile(join(workspace.cwd, 'a/b/c.txt'), 'utf8')).toBe('ü😀')
  expect(await readdir(join(workspace.cwd, 'a/b'))).toEqual(['c.txt'])
})

test('write replaces a file, also through a link that stays inside, and keeps the link', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('real.txt', 'old and longer')
  await symlink('real.txt', join(workspace.cwd, 'link.txt'))
  const answer = await write.run({ path: 'link.txt', content: 'new' }, workspace.context())
  expect(answer).toEqual({ ok: true, value: { path: 'real.txt', bytes: 3, created: false } })
  expect(await readFile(join(workspace.cwd, 'link.txt'), 'utf8')).toBe('new')
  expect((await readdir(workspace.cwd)).sort()).toEqual(['link.txt', 'real.txt'])
})

test('write takes 1 MiB and empty content, and refuses over 4 MiB with the numbers', async () => {
  const workspace = await makeWorkspace()
  const content = '😀'.repeat(262_144)
  expect(await write.run({ path: 'a.txt', content }, workspace.context())).toMatchObject({
    ok: true,
    value: { bytes: 1_048_576 },
  })
  expect(await readFile(join(workspace.cwd, 'a.txt'), 'utf8')).toBe(content)
  expect(await write.run({ path: 'a.txt', content: '' }, workspace.context())).toMatchObject({
    ok: true,
    value: { bytes: 0 },
  })
  expect(
    refusalIn(await write.run({ path: 'a.txt', content: `${content.repeat(4)}x` }, workspace.context())),
  ).toContain('4194305')
})

test('write refuses directories, paths below a file, and text that has no bytes', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('file', '')
  await mkdir(join(workspace.cwd, 'directory'))
  const tries = {
    directory: 'not a directory',
    '.': 'not a directory',
    'new/': 'without \\"/\\"',
    'file/below': 'parents are all directories',
    'file/below/more': 'parents are all directories',
  }
  for (const [path, words] of Object.entries(tries))
    expect(refusalIn(await write.run({ path, content: 'x' }, workspace.context()))).toContain(words)
  expect(refusalIn(await write.run({ path: 'a', content: '\ud83d' }, workspace.context()))).toContain(
    'surrogate',
  )
  expect((await readdir(workspace.cwd)).sort()).toEqual(['directory', 'file'])
})

test('write at the same time leaves one of the contents whole and no other file', async () => {
  const workspace = await makeWorkspace()
  const contents = Array.from({ length: 8 }, (_, index) => String(index).repeat(100_000))
  await Promise.all(contents.map((content) => write.run({ path: 'a.txt', content }, workspace.context())))
  expect(contents).toContain(await readFile(join(workspace.cwd, 'a.txt'), 'utf8'))
  expect(await readdir(workspace.cwd)).toEqual(['a.txt'])
})
