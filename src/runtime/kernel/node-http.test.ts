import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const source = join(import.meta.dirname, '../..')

/** Whether a file imports more than types from `node:http`. */
const importsHttp = (text: string): boolean =>
  [...text.matchAll(/^import (?!type )([^']*?) from 'node:http'/gm)].some(([, names = '']) =>
    names
      .replaceAll(/[{}]/g, '')
      .split(',')
      .some((name) => name.trim() !== '' && !name.trim().startsWith('type ')),
  )

test('nothing imports node:http as a module, which loads undici at every start', () => {
  expect(importsHttp("import { request as ask, type IncomingMessage } from 'node:http'")).toBe(true)
  expect(importsHttp("import { type IncomingMessage } from 'node:http'")).toBe(false)
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) => importsHttp(readFileSync(join(source, file), 'utf8')))
  expect(files).toEqual([])
})
