import { expect, test } from 'vitest'
import { world } from '../../../test/kits/world.ts'

test('what was asked for a call stands in its record, its money like everything else', async () => {
  const asked = { timeout_seconds: 30, max_tokens: 500, max_usd: 0.5, allow_nested_calls: true }
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          for (const agent_name of ['coder', 'nobody'])
            await turn.tool('sub_agent', { agent_name, task: 'x', ...asked })
          return 'ok'
        },
      },
      coder: {},
    },
  })
  await w.run('boss', 'go')
  const calls = [...(await w.events('call.opened')), ...(await w.events('call.refused'))]
  expect(calls.map(({ event }) => event.requested)).toEqual(
    [0, 1].map(() => ({
      timeoutMs: 30_000,
      maxTokens: 500,
      maxUsd: 0.5,
      allowedTools: null,
      nested: true,
      context: null,
    })),
  )
})
