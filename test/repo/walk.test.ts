/** ARCHITECTURE.md tells which files a call from outside passes; a real request is compared with it. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const told = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  .split('## The walk of POST /api/calls')[1]
  ?.split('\n## ')[0]
const documented = [...(told ?? '').matchAll(/^\d+\. `(src\/[^`]+)`/gm)].map(([, path = '']) => path)

test('the documented walk has at most twelve files, which exist, each once', () => {
  expect(documented.length).toBeGreaterThan(0)
  expect(documented.length).toBeLessThanOrEqual(12)
  expect(documented.filter((path) => !existsSync(join(root, path)))).toEqual([])
  expect(new Set(documented).size).toBe(documented.length)
})

test('the stack of a real request has only files of the documented walk, in its order', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'test/repo/walk-trace.ts')])
  const walked = [...new Set(JSON.parse(stdout.trim().split('\n').at(-1) ?? '[]') as string[])]
  expect(walked).toContain('src/runtime/calls/call.ts')
  expect(documented.filter((path) => walked.includes(path))).toEqual(walked)
}, 300_000)
