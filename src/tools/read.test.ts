import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { byteLength } from '../model/text.ts'
import { read } from './read.ts'
import { containedContract, answerFields, makeWorkspace, refusalIn, textIn } from './workspace-contract.ts'

containedContract(read, (path) => ({ path }))

test('read gives a small file whole', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'one\ntwo\n')
  expect(await read.run({ path: 'a.txt' }, workspace.context())).toEqual({
    ok: true,
    value: {
      path: 'a.txt',
      text: 'one\ntwo\n',
      bytes: 8,
      binary: false,
      first_line: 1,
      lines: 2,
      truncated: false,
      next_offset: null,
      note: '',
    },
  })
})

test('read gives the asked lines and tells how to go on', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'one\ntwo\nthree\nfour')
  const first = answerFields(await read.run({ path: 'a.txt', offset: 2, limit: 2 }, workspace.context()))
  expect(first).toMatchObject({
    text: 'two\nthree\n',
    first_line: 2,
    lines: 2,
    truncated: true,
    next_offset: 4,
    note: expect.stringContaining('offset 4'),
  })
  const rest = answerFields(await read.run({ path: 'a.txt', offset: 4 }, workspace.context()))
  expect(rest).toMatchObject({ text: 'four', lines: 1, truncated: false, next_offset: null })
})

test('read refuses an offset behind the end and says how many lines there are', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'one\ntwo\n')
  await workspace.file('empty.txt', '')
  expect(refusalIn(await read.run({ path: 'a.txt', offset: 3 }, workspace.context()))).toContain(
    'a line from 1 to 2',
  )
  expect(refusalIn(await read.run({ path: 'empty.txt', offset: 2 }, workspace.context()))).toContain(
    'the file is empty',
  )
  expect(answerFields(await read.run({ path: 'empty.txt' }, workspace.context()))).toMatchObject({
    text: '',
    lines: 0,
    next_offset: null,
  })
})

test('read goes through a file of 1 MiB in pieces that join to the file', async () => {
  const workspace = await makeWorkspace()
  const lines = Array.from(
    { length: 16_384 },
    (_, index) => `${String(index).padStart(7, '0')} ${'ü😀x'.repeat(8)}`,
  )
  const whole = lines.join('\n')
  expect(byteLength(whole)).toBeGreaterThan(1_048_576 - 65_536)
  await workspace.file('big.txt', whole)
  let text = ''
  let rounds = 0
  for (let offset: unknown = 1; typeof offset === 'number'; rounds += 1) {
    const part = await read.run({ path: 'big.txt', offset, limit: 100_000 }, workspace.context())
    expect(byteLength(textIn(part, 'text'))).toBeLessThanOrEqual(51_200)
    text += textIn(part, 'text')
    offset = answerFields(part)['next_offset']
  }
  expect(text).toBe(whole)
  expect(rounds).toBeLessThan(40)
})

test('read cuts a line of 1 MiB between code points, and knows whether lines follow it', async () => {
  const workspace = await makeWorkspace()
  for (const shift of ['', 'a', 'ab', 'abc']) {
    await workspace.file('long.txt', `${shift}${'😀'.repeat(262_144)}`)
    const alone = await read.run({ path: 'long.txt' }, workspace.context())
    const text = textIn(alone, 'text')
    expect(text.isWellFormed()).toBe(true)
    expect(text).not.toContain('\ufffd')
    expect(byteLength(text)).toBeGreaterThan(51_196)
    expect(answerFields(alone)).toMatchObject({
      truncated: true,
      next_offset: null,
      note: expect.stringContaining('Line 1 is longer'),
    })
  }
  await workspace.file('long.txt', `${'😀'.repeat(262_144)}\nlast`)
  expect(answerFields(await read.run({ path: 'long.txt' }, workspace.context()))).toMatchObject({
    next_offset: 2,
  })
  expect(answerFields(await read.run({ path: 'long.txt', offset: 2 }, workspace.context()))).toMatchObject({
    text: 'last',
    next_offset: null,
  })
})

test('read does not cut a code point where a chunk of the file ends', async () => {
  const workspace = await makeWorkspace()
  for (const shift of ['', 'a', 'ab', 'abc']) {
    // The second line has exactly as many bytes before the end of the first 64 KiB as are shown.
    await workspace.file('a.txt', `${'x'.repeat(65_536 - 51_200 - 1)}\n${shift}${'😀'.repeat(20_000)}\nlast`)
    const part = await read.run({ path: 'a.txt', offset: 2 }, workspace.context())
    expect(textIn(part, 'text')).toBe(`${shift}${'😀'.repeat(Math.floor((51_200 - shift.length) / 4))}`)
    expect(answerFields(part)).toMatchObject({ truncated: true, next_offset: 3 })
  }
})

test('read in windows of any size gives the file back', async () => {
  const workspace = await makeWorkspace()
  const line = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.integer({ min: 17_060, max: 17_070 }).map((count) => '€'.repeat(count)),
  )
  const content = fc
    .array(
      line.map((text) => text.replace(/[\n\0]/g, '')),
      { maxLength: 12 },
    )
    .map((lines) => lines.join('\n'))
    .filter((text) => !text.split('\n').some((part) => byteLength(part) > 51_199))
  await fc.assert(
    fc.asyncProperty(content, fc.integer({ min: 1, max: 5 }), async (whole, limit) => {
      await workspace.file('a.txt', whole)
      let text = ''
      for (let offset: unknown = 1; typeof offset === 'number';) {
        const part = await read.run({ path: 'a.txt', offset, limit }, workspace.context())
        text += textIn(part, 'text')
        offset = answerFields(part)['next_offset']
      }
      expect(text).toBe(whole)
    }),
    { numRuns: 60 },
  )
})

test('read says that a file is binary instead of showing it', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.bin', new Uint8Array([1, 0, 2]))
  expect(answerFields(await read.run({ path: 'a.bin' }, workspace.context()))).toMatchObject({
    binary: true,
    text: '',
    bytes: 3,
    note: expect.stringContaining('binary'),
  })
})

test('read refuses directories, pipes and what does not exist, without hanging', async () => {
  const workspace = await makeWorkspace()
  execFileSync('mkfifo', [join(workspace.cwd, 'pipe')])
  expect(refusalIn(await read.run({ path: '.' }, workspace.context()))).toContain('not a directory')
  expect(refusalIn(await read.run({ path: 'pipe' }, workspace.context()))).toContain('regular file')
  expect(refusalIn(await read.run({ path: 'none.txt' }, workspace.context()))).toContain('a path that exists')
  await workspace.file('a.txt', '')
  expect(refusalIn(await read.run({ path: 'a.txt/b' }, workspace.context()))).toContain(
    'parents are all directories',
  )
})
