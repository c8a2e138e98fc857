/** What lies in the data directory in the place of a server's own files: nothing of it is waited for. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { announce, readKeys } from '../../src/server-files.ts'
import { readBlock, writeSegment } from '../../src/store/archive/segment-file.ts'
import { readServerFile, readToken } from '../../src/cli/reach/place.ts'

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-own-files-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const hasPipes = process.platform !== 'win32'
const pipe = (path: string): void => void execFileSync('mkfifo', [path])

test.skipIf(!hasPipes)('a pipe in the place of a segment stopped the server for everybody', async () => {
  const path = join(folder(), 'segment')
  const [block] = await writeSegment(path, [{ seq: 1, count: 1, at: 1, events: '[]' }])
  if (block === undefined) throw new Error('a segment has a block')
  expect(readBlock(path, block)).toEqual([{ seq: 1, count: 1, at: 1, events: '[]' }])
  rmSync(path)
  pipe(path)
  expect(() => readBlock(path, block)).toThrow('it is not a file')
  rmSync(path)
  symlinkSync('/dev/zero', path)
  expect(() => readBlock(path, block)).toThrow('it is not a file')
})

test.skipIf(!hasPipes).each(['token', 'secret'])(
  'a start does not wait for a pipe in the place of %s, nor take gigabytes for it',
  async (name) => {
    const directory = folder()
    pipe(join(directory, name))
    await expect(readKeys(directory, null)).rejects.toThrow(`${name} is not a file of at most`)
    rmSync(join(directory, name))
    writeFileSync(join(directory, name), '')
    truncateSync(join(directory, name), 1_000_000_000)
    await expect(readKeys(directory, null)).rejects.toThrow(`${name} is not a file of at most`)
  },
)

test.skipIf(!hasPipes)('who looks for a server does not wait for a pipe either', async () => {
  const directory = folder()
  pipe(join(directory, 'server.json'))
  pipe(join(directory, 'token'))
  expect([await readServerFile(directory), await readToken(directory)]).toEqual([null, null])
})

test.skipIf(!hasPipes)('a server says where it is past a pipe in its way', async () => {
  const directory = folder()
  pipe(join(directory, 'server.json.new'))
  pipe(join(directory, 'server.json'))
  await announce(directory, 'http://127.0.0.1:1', 'tokens', { file: null, digest: null } as Parameters<
    typeof announce
  >[3])
  expect(readFileSync(join(directory, 'server.json'), 'utf8')).toContain('http://127.0.0.1:1')
})
