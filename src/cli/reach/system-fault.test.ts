import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeSystemFault } from './system-fault.ts'

const thrown = (act: () => unknown): unknown => {
  try {
    return act()
  } catch (error) {
    return error
  }
}
const made = (code: string, syscall: string, path: string): Error =>
  Object.assign(new Error(`${code}: permission denied, ${syscall} '${path}'`), { code, syscall, path })

test('a no of the file system names the directory and what to do', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'tieline-fault-'))
  const file = join(cwd, 'f')
  writeFileSync(file, '')
  expect(describeSystemFault(thrown(() => mkdirSync(file)))).toBe(
    `${file} is a file, but a directory is needed: ` +
      'choose another data directory with --data-dir DIR or TIELINE_DATA_DIR.',
  )
  expect(describeSystemFault(thrown(() => mkdirSync(join(file, 'x'), { recursive: true })))).toContain(
    `${join(file, 'x')} cannot be there, because a part of it is a file`,
  )
  expect(describeSystemFault(made('EACCES', 'mkdir', '/home/u/.local'))).toContain(
    '/home/u/.local cannot be written to: change its permissions, or choose another',
  )
  expect(describeSystemFault(made('EACCES', 'open', '/home/u/.claude.json.123.tmp'))).toContain(
    '/home/u cannot be written to',
  )
  expect([
    describeSystemFault(new Error('x')),
    describeSystemFault('x'),
    describeSystemFault(made('ENOENT', 'open', '/x')),
  ]).toEqual([null, null, null])
  rmSync(cwd, { recursive: true })
})
