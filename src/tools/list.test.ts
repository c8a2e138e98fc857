import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { list } from './list.ts'
import { containedContract, answerFields, makeWorkspace, refusalIn } from './workspace-contract.ts'

containedContract(list, (path) => ({ path }))

test('list shows one level of the directory itself, sorted, with directories and links marked', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('b.txt', '')
  await workspace.file('a/inner.txt', '')
  await workspace.file('ü 😀.txt', '')
  await symlink('../work-outside', join(workspace.cwd, 'link'))
  expect(await list.run({}, workspace.context())).toEqual({
    ok: true,
    value: { path: '.', entries: ['a/', 'b.txt', 'link@', 'ü 😀.txt'], truncated: false, note: '' },
  })
})

test('list goes as deep as asked, but not through links, .git or node_modules', async () => {
  const workspace = await makeWorkspace()
  for (const path of ['a/b/c/d.txt', '.git/config', 'node_modules/x/index.js']) await workspace.file(path, '')
  await symlink('..', join(workspace.cwd, 'a/up'))
  await symlink('../work-outside', join(workspace.cwd, 'out'))
  expect(answerFields(await list.run({ depth: 3 }, workspace.context()))['entries']).toEqual([
    '.git/',
    'a/',
    'a/b/',
    'a/b/c/',
    'a/up@',
    'node_modules/',
    'out@',
  ])
  expect(
    answerFields(await list.run({ path: 'node_modules', depth: 99 }, workspace.context()))['entries'],
  ).toEqual(['x/', 'x/index.js'])
})

test('list is bounded, and keeps the upper levels whole when it cuts', async () => {
  const workspace = await makeWorkspace()
  await mkdir(join(workspace.cwd, 'a'))
  await Promise.all(
    Array.from({ length: 600 }, (_, index) => writeFile(join(workspace.cwd, 'a', `${index}`), '')),
  )
  await workspace.file('z.txt', '')
  const { entries, truncated, note } = answerFields(await list.run({ depth: 2 }, workspace.context()))
  expect(entries).toHaveLength(500)
  expect(entries).toEqual(expect.arrayContaining(['a/', 'z.txt', 'a/0']))
  expect(truncated).toBe(true)
  expect(note).toContain('There is more')
})

test('list refuses files and what does not exist', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', '')
  for (const path of ['a.txt', 'none', 'a.txt/b'])
    expect(refusalIn(await list.run({ path }, workspace.context()))).toContain('a directory that exists')
  expect(refusalIn(await list.run({ depth: 0 }, workspace.context()))).toContain('depth: 0')
})
