import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fastify } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { pageRoutes } from './page-routes.ts'
import type { App, Deps } from './route.ts'

async function openPage(files: Record<string, string>) {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-page-'))
  mkdirSync(join(directory, 'assets'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  const app = fastify()
  onTestFinished(async () => {
    await app.close()
    rmSync(directory, { recursive: true })
  })
  pageRoutes(app as unknown as App, { version: '1' } as Deps, directory)
  return (url: string, etag?: string) =>
    app.inject({ url, headers: etag === undefined ? {} : { 'if-none-match': etag } })
}

test('a file that has not changed is not sent again', async () => {
  const get = await openPage({ 'index.html': '<p>page</p>' })
  const { statusCode, body, headers } = await get('/')
  expect([statusCode, body, headers['content-type']]).toEqual([
    200,
    '<p>page</p>',
    'text/html; charset=utf-8',
  ])
  const again = await get('/', String(headers['etag']))
  expect([again.statusCode, again.body]).toEqual([304, ''])
  expect((await get('/', '"another"')).statusCode).toBe(200)
})

test('only a file whose name changes with it is kept by browsers', async () => {
  const get = await openPage({ 'index.html': 'x', 'assets/app-0123abcd.js': 'y', 'assets/logo.svg': 'z' })
  const kept = async (url: string) => String((await get(url)).headers['cache-control']).includes('immutable')
  expect(await kept('/assets/app-0123abcd.js')).toBe(true)
  expect([await kept('/'), await kept('/assets/logo.svg')]).toEqual([false, false])
})

test('a file has the type that its ending says, whatever letters that is written in', async () => {
  const get = await openPage({ 'assets/logo.SVG': '<svg/>', 'assets/notes.xyz': 'x' })
  const typeOf = async (url: string) => (await get(url)).headers['content-type']
  expect(await typeOf('/assets/logo.SVG')).toBe('image/svg+xml')
  expect(await typeOf('/assets/notes.xyz')).toBe('application/octet-stream')
})
