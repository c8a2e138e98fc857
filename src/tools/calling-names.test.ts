import { expect, test } from 'vitest'
import { Agent } from '../model/agent.ts'
import type { TurnContext } from '../runtime/kernel/ports.ts'
import { whoMayBeCalled } from './calling.ts'

const describe = (count: number): string =>
  whoMayBeCalled({
    callable: Array.from({ length: count }, (_, n) => Agent.parse({ name: `agent-${n + 1}`, model: 'p/m' })),
    session: { id: 'ses_1' },
  } as unknown as TurnContext)

test('forty agents are all named, and of more it is said how many are left out', () => {
  const all = describe(40)
  expect(all).toContain('agent-30, agent-31')
  expect(all).not.toMatch(/ more\b/)
  expect(describe(41)).toMatch(
    /agent-30, agent-32, .*agent-41, and 1 more, which you can call by their names/,
  )
})
