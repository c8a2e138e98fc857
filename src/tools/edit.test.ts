import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { edit } from './edit.ts'
import { containedContract, makeWorkspace, refusalIn } from './workspace-contract.ts'

containedContract(edit, (path) => ({ path, old: 'a', new: 'b', all: true }))

async function edited(content: string, input: { old: string; new: string; all?: boolean }): Promise<string> {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', content)
  const answer = await edit.run({ path: 'a.txt', ...input }, workspace.context())
  const after = await readFile(join(workspace.cwd, 'a.txt'), 'utf8')
  expect(answer.ok || after === content).toBe(true)
  return answer.ok ? after : refusalIn(answer)
}

test('edit replaces the one exact match and reports it', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'ü one 😀\n')
  expect(await edit.run({ path: 'a.txt', old: 'one 😀', new: 'two' }, workspace.context())).toEqual({
    ok: true,
    value: { path: 'a.txt', replacements: 1, bytes: 7 },
  })
  expect(await readFile(join(workspace.cwd, 'a.txt'), 'utf8')).toBe('ü two\n')
})

test('edit takes patterns and dollar signs as plain text', async () => {
  expect(await edited('a.c $& abc', { old: 'a.c', new: "$& $1 $' \\n" })).toBe("$& $1 $' \\n $& abc")
})

test('edit refuses no match and several matches with the count, and leaves the file', async () => {
  expect(await edited('x y x', { old: 'z', new: 'b' })).toContain('0 matches')
  expect(await edited('x y x', { old: 'x', new: 'b' })).toContain('2 matches')
  expect(await edited('x y x x', { old: 'x', new: 'b' })).toContain('3 matches')
  expect(await edited('aaa', { old: 'aa', new: 'b' })).toBe('ba')
  expect(await edited('x y x', { old: 'x', new: '', all: true })).toBe(' y ')
})

test('edit tells that the lines of the file end in CRLF', async () => {
  expect(await edited('a\r\nb\r\n', { old: 'a\nb', new: 'c' })).toContain('\\\\r\\\\n')
})

test('edit refuses an empty old, an unchanged text and half of a surrogate pair', async () => {
  expect(await edited('a', { old: '', new: 'b' })).toContain('not empty')
  expect(await edited('a', { old: 'a', new: 'a' })).toContain('differs')
  expect(await edited('😀', { old: '\ud83d', new: 'a' })).toContain('surrogate')
})

test('edit keeps a byte order mark and every byte around the match', async () => {
  expect(await edited('\ufeffa\r\nb\tc', { old: 'b', new: 'B' })).toBe('\ufeffa\r\nB\tc')
})

test('edit refuses files that are not UTF-8 text, since it would change their other bytes', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('latin.txt', new Uint8Array([0x61, 0xe4, 0x62]))
  await workspace.file('a.bin', new Uint8Array([0x61, 0, 0x62]))
  for (const path of ['latin.txt', 'a.bin'])
    expect(refusalIn(await edit.run({ path, old: 'a', new: 'c' }, workspace.context()))).toContain('UTF-8')
  expect(refusalIn(await edit.run({ path: 'none', old: 'a', new: 'c' }, workspace.context()))).toContain(
    'a path that exists',
  )
})

test('edit works on 1 MiB and refuses to grow a file past 4 MiB', async () => {
  const whole = '😀'.repeat(262_143)
  expect(await edited(`${whole}mark`, { old: 'mark', new: 'done' })).toBe(`${whole}done`)
  expect(await edited('a'.repeat(100_000), { old: 'a', new: 'b'.repeat(100), all: true })).toContain(
    '10000000',
  )
})

test('edits of one file at the same time all count', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', Array.from({ length: 12 }, (_, index) => `old${index};`).join(''))
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      edit.run({ path: 'a.txt', old: `old${index};`, new: `new${index};` }, workspace.context()),
    ),
  )
  expect(answers.every((answer) => answer.ok)).toBe(true)
  expect(await readFile(join(workspace.cwd, 'a.txt'), 'utf8')).toBe(
    Array.from({ length: 12 }, (_, index) => `new${index};`).join(''),
  )
})
