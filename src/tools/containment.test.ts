import { readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, realpath, rename, stat, symlink, writeFile, chmod } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { explain, isRefusal } from '../model/refusal.ts'
import { resolveInside, withFile, type Inside } from './containment.ts'
import { inTurn, replaceFile } from './replace-file.ts'
import { makeWorkspace } from './workspace-contract.ts'

const live = new AbortController().signal

async function inside(cwd: string, path: string): Promise<Inside> {
  const found = await resolveInside({ cwd }, path, 'path')
  if (isRefusal(found)) throw new Error(explain(found))
  return found
}

/** Independent of the code under test: what the kernel says of the nearest parent that exists. */
async function reallyInside(root: string, path: string): Promise<boolean> {
  for (let at = path; ; at = dirname(at)) {
    const real = await realpath(at).catch(() => null)
    if (real !== null) return real === root || real.startsWith(`${root}/`)
  }
}

/** The path that is handed on has no links left, so that using it cannot lead elsewhere. */
async function problemWith(root: string, found: Inside): Promise<string> {
  if (found.path !== root && !found.path.startsWith(`${root}/`)) return 'outside by its words'
  if (!(await reallyInside(root, found.path))) return 'outside by its links'
  if ((await realpath(found.path).catch(() => found.path)) !== found.path) return 'has links left'
  return (await stat(found.path).then(
    () => true,
    () => false,
  )) === found.exists
    ? 'none'
    : 'wrong about its existence'
}

test('C1: no path made of names, links, dots and slashes leads out', async () => {
  const { cwd, outside } = await makeWorkspace()
  await mkdir(join(cwd, 'a/b'), { recursive: true })
  await writeFile(join(cwd, 'file'), 'x')
  const links = {
    out: '../work-outside',
    up: '..',
    in: 'a/b',
    dangling: '../work-outside/new',
    chain: 'out',
    'a/far': '../out/deep',
    'a/b/back': '../..',
    'a/self': 'self',
    'a/abs': outside,
  }
  for (const [name, target] of Object.entries(links)) await symlink(target, join(cwd, name))
  const part = fc.constantFrom(
    'a',
    'b',
    'file',
    'out',
    'up',
    'in',
    'dangling',
    'chain',
    'far',
    'back',
    'self',
    'abs',
    'new',
    '..',
    '.',
    '',
    '..a',
    'work',
    'work-outside',
    'secret.txt',
    'ü😀',
  )
  const paths = fc
    .tuple(
      fc.constantFrom('', './', '/', `${cwd}/`, `${outside}/`),
      fc.array(part, { minLength: 1, maxLength: 8 }),
    )
    .map(([start, parts]) => start + parts.join('/'))
  let taken = 0
  await fc.assert(
    fc.asyncProperty(paths, async (path) => {
      const found = await resolveInside({ cwd }, path, 'path')
      const refused = isRefusal(found)
      if (!refused) taken += 1
      expect(
        refused ? `${found.code} ${'field' in found ? found.field : ''}` : await problemWith(cwd, found),
      ).toBe(refused ? 'bad_input path' : 'none')
    }),
    { numRuns: 1500 },
  )
  expect(taken).toBeGreaterThan(50)
})

test('C1: plain names without links always stay inside, whatever characters they have', async () => {
  const { cwd } = await makeWorkspace()
  const name = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .filter((text) => text !== '.' && text !== '..' && !/[/\0]/.test(text))
  await fc.assert(
    fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 4 }), async (parts) => {
      expect(await inside(cwd, parts.join('/'))).toEqual({
        root: cwd,
        hidden: [],
        path: join(cwd, ...parts),
        shown: join(...parts),
        exists: false,
      })
    }),
    { numRuns: 200 },
  )
})

test('a refusal names the field, what was given and what is accepted', async () => {
  const { cwd } = await makeWorkspace()
  const refusal = await resolveInside({ cwd }, '../x', 'context.workspace_files')
  expect(refusal).toEqual({
    code: 'bad_input',
    field: 'context.workspace_files',
    given: '"../x"',
    expected: expect.stringContaining(cwd),
  })
})

test('nothing can be learnt about the disk outside: every path out has the same refusal', async () => {
  const { cwd, outside } = await makeWorkspace()
  await symlink('ring', join(outside, 'ring'))
  const paths = [
    '../work-outside/ring',
    '../work-outside/none',
    '../work-outside/secret.txt/below',
    `${outside}/${'x'.repeat(300)}`,
  ]
  for (const path of paths)
    expect(await resolveInside({ cwd }, path, 'path')).toMatchObject({
      expected: expect.stringContaining('inside the working directory'),
    })
})

test('the directory itself, names that only start with dots, and ways out and back in are inside', async () => {
  const { cwd } = await makeWorkspace()
  expect(await inside(cwd, '.')).toEqual({ root: cwd, hidden: [], path: cwd, shown: '.', exists: true })
  expect((await inside(cwd, cwd)).shown).toBe('.')
  expect((await inside(cwd, '..a/...')).shown).toBe('..a/...')
  expect((await inside(cwd, '../work/a')).shown).toBe('a')
  expect(isRefusal(await resolveInside({ cwd }, `${cwd}-outside`, 'path'))).toBe(true)
})

test('a dangling link is followed to where a write would land', async () => {
  const { cwd } = await makeWorkspace()
  await mkdir(join(cwd, 'sub'))
  await symlink('sub/new.txt', join(cwd, 'link'))
  expect(await inside(cwd, 'link')).toEqual({
    root: cwd,
    hidden: [],
    path: join(cwd, 'sub/new.txt'),
    shown: 'sub/new.txt',
    exists: false,
  })
})

test('C2: a link planted in place of the file after the check is followed neither to read nor to write', async () => {
  const workspace = await makeWorkspace()
  const { cwd, outside } = workspace
  const place = await inside(cwd, 'note.txt')
  await symlink(join(outside, 'secret.txt'), join(cwd, 'note.txt'))
  const before = await workspace.outsideState()
  await expect(
    withFile(place, 'note.txt', async (file) => ({ text: readFileSync(file, 'utf8') })),
  ).rejects.toMatchObject({ code: 'ELOOP' })
  expect(isRefusal(await replaceFile(place, 'note.txt', 'mine', live))).toBe(true)
  expect(await workspace.outsideState()).toBe(before)
})

test('C2: a directory swapped for a link after the check is not followed, for reading nor for writing', async () => {
  const workspace = await makeWorkspace()
  const { cwd, outside } = workspace
  await workspace.file('sub/secret.txt', 'mine')
  const place = await inside(cwd, 'sub/secret.txt')
  await rename(join(cwd, 'sub'), join(cwd, 'elsewhere'))
  await symlink(outside, join(cwd, 'sub'))
  const before = await workspace.outsideState()
  const changedAt = (await stat(outside)).mtimeMs
  const read = await withFile(place, 'sub/secret.txt', async (file) => ({ text: readFileSync(file, 'utf8') }))
  expect(read).toMatchObject({ code: 'bad_input' })
  expect(await replaceFile(place, 'sub/secret.txt', 'overwritten', live)).toMatchObject({ code: 'bad_input' })
  expect((await stat(outside)).mtimeMs).toBe(changedAt)
  expect(await workspace.outsideState()).toBe(before)
})

test('C3: a stopped write leaves the old file and nothing else', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'old')
  const place = await inside(workspace.cwd, 'a.txt')
  await expect(replaceFile(place, 'a.txt', 'new', AbortSignal.abort(new Error('stop')))).rejects.toThrow(
    'stop',
  )
  expect(await readdir(workspace.cwd)).toEqual(['a.txt'])
  expect(await readFile(place.path, 'utf8')).toBe('old')
})

test('a file that somebody else changed after it was read is not replaced', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'old')
  const place = await inside(workspace.cwd, 'a.txt')
  const version = await stat(place.path, { bigint: true })
  await workspace.file('a.txt', 'theirs')
  expect(await replaceFile(place, 'a.txt', 'mine', live, version)).toMatchObject({
    code: 'bad_input',
    expected: expect.stringContaining('nobody changes'),
  })
  expect(await readFile(place.path, 'utf8')).toBe('theirs')
  expect(await readdir(workspace.cwd)).toEqual(['a.txt'])
})

test('C3: readers see the old or the new content of a file, never a part', async () => {
  const workspace = await makeWorkspace()
  const contents = ['a'.repeat(1_048_576), 'b'.repeat(1_048_576)]
  await workspace.file('a.txt', contents[0] ?? '')
  const place = await inside(workspace.cwd, 'a.txt')
  let writing = true
  const writer = (async () => {
    for (let round = 0; round < 10; round += 1)
      await replaceFile(place, 'a.txt', contents[round % 2] ?? '', live)
    writing = false
  })()
  while (writing) expect(contents.includes(await readFile(place.path, 'utf8'))).toBe(true)
  await writer
})

test('a replaced file keeps its permissions', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('run.sh', 'old')
  await chmod(join(workspace.cwd, 'run.sh'), 0o751)
  await replaceFile(await inside(workspace.cwd, 'run.sh'), 'run.sh', 'new', live)
  expect((await stat(join(workspace.cwd, 'run.sh'))).mode & 0o777).toBe(0o751)
})

test('work on one file runs in order, goes on after a failure, and does not hold up other files', async () => {
  const seen: string[] = []
  let release = (): void => {}
  const first = inTurn(
    '/a',
    () =>
      new Promise<void>((resolve) => {
        release = resolve
      }),
  ).then(() => seen.push('first'))
  const second = inTurn('/a', () => Promise.reject(new Error('second'))).catch(() => seen.push('second'))
  const third = inTurn('/a', async () => seen.push('third'))
  await inTurn('/b', async () => seen.push('other'))
  release()
  await Promise.all([first, second, third])
  expect(seen).toEqual(['other', 'first', 'second', 'third'])
})
