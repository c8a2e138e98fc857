import { expect, test } from 'vitest'
import { tielineClient } from './client.ts'

test('a directory is said in letters that every header may have', async () => {
  const cwd = '/home/jürgen/proj 世界'
  const said: unknown[] = []
  const client = tielineClient({
    url: 'http://127.0.0.1:1',
    cwd,
    fetch: async (_url, { headers }) => {
      said.push(new Headers(headers).get('x-tieline-cwd'))
      return Response.json({ agents: [] })
    },
  })
  await client.agents()
  expect(said).toEqual([encodeURIComponent(cwd)])
})
