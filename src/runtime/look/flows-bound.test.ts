import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'
import { listFlows } from './flows.ts'

test('R11: one page looks through so many requests, and says where to go on', async () => {
  const w = await world({ agents: { a: {} } })
  await w.run('a', 'go')
  const { lists } = w.node.runtime
  const [root] = (await lists.roots({ before: null }, 1)).roots
  if (root === undefined) throw new Error('there is none')
  let looked = 0
  const roots: typeof lists.roots = async (_ask, limit) => {
    looked += limit
    return { roots: Array.from({ length: limit }, () => root), next: looked < 2000 ? looked : null }
  }
  const runtime = { ...w.node.runtime, lists: { ...lists, roots } }
  // None of them fits.
  const ask = { agent: 'nobody', limit: 50, before: null }
  expect(await listFlows(runtime, ask)).toEqual({ flows: [], next: 300 })
  looked = 0
  expect(await listFlows(runtime, { ...ask, state: 'live' })).toEqual({ flows: [], next: 100 })
})
