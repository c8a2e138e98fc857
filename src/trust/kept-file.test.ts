import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readKept, readKeptNow, replaceKept } from './kept-file.ts'

const directory = mkdtempSync(join(tmpdir(), 'tieline-kept-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Without a bound, a pipe and a device would be read for ever, and the large one into memory. */
const places: Record<string, (path: string) => unknown> = {
  'a pipe': (path) => execFileSync('mkfifo', [path]),
  'a device without an end': (path) => symlinkSync('/dev/zero', path),
  'a directory': (path) => mkdirSync(path),
  'a file that is too large': (path) => {
    writeFileSync(path, '')
    truncateSync(path, 101)
  },
  nothing: () => undefined,
}

const why = /at most 100 bytes|no such file/

test.skipIf(process.platform === 'win32').each(Object.entries(places))(
  'what is %s is not read, at once',
  async (name, make) => {
    const path = join(directory, name)
    make(path)
    expect(() => readKeptNow(path, 100)).toThrow(why)
    await expect(readKept(path, 100)).rejects.toThrow(why)
  },
)

test('a file is read whole, up to its bound', async () => {
  const path = join(directory, 'kept')
  writeFileSync(path, 'x'.repeat(100))
  expect(readKeptNow(path, 100)).toHaveLength(100)
  expect(await readKept(path, 100)).toHaveLength(100)
})

test('what is kept is not written through a link that somebody has put in its place', async () => {
  const [path, other] = [join(directory, 'limits.json'), join(directory, 'other')]
  writeFileSync(other, 'precious')
  for (const name of [path, `${path}.new`]) symlinkSync(other, name)
  await replaceKept(path, 'kept')
  expect([readFileSync(other, 'utf8'), readFileSync(path, 'utf8')]).toEqual(['precious', 'kept'])
  expect([lstatSync(path).isFile(), lstatSync(path).mode & 0o777]).toEqual([true, 0o600])
})
