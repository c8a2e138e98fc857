import { expect, test } from 'vitest'
import { world } from '../../test/kits/world.ts'
import type { SessionId } from '../model/id.ts'
import { sweep } from './node.ts'

test('R12: a sweep goes on where the one before it stopped, so that it comes to all that wait', async () => {
  const w = await world({ agents: { a: {} } })
  const { runtime } = w.node
  const looked: (SessionId | null)[] = []
  const nothing = { calls: [], sessions: [], turns: [], lost: [] }
  // More pages than one sweep looks at.
  runtime.store.due = async (_at, _limit, after = null) => {
    looked.push(after)
    return { ...nothing, next: looked.length % 20 === 0 ? null : `ses_${looked.length}` }
  }
  await sweep(runtime)
  await sweep(runtime)
  const pages = Array.from({ length: 19 }, (_, n): SessionId => `ses_${n + 1}`)
  expect(looked).toEqual([null, ...pages])
})
