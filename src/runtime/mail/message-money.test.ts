/** R7: the money of a turn, and what its messages and those that write them out may spend of it. */
import { expect, test } from 'vitest'
import { mailWorld } from '../../../test/kits/mail.ts'
import { payer } from '../../../test/kits/payer.ts'
import type { Driver } from '../kernel/ports.ts'

test('money that a running turn has paid is not given away again by its messages', async () => {
  let to = ''
  const spender: Driver = {
    async run(turn, steps, signal) {
      await payer(90, 1).run(turn, steps, signal)
      await steps.tool('send_agent_message', { sessionId: to, message: 'hello' })
      return { outcome: 'completed', output: 'sent', error: null, iterations: 1 }
    },
  }
  const w = await mailWorld({ agents: { coder: {}, spender: { driver: spender } } })
  to = await w.open('coder')
  await w.run('spender', 'spend', { maxUsd: 1 })
  const sent = (await w.events('message.sent')).find(({ event }) => event.text === 'hello')
  expect(sent?.event.grant.nanoUsdMax).toBe(50_000_000)
})

test('what writes a message out is held to half of what its turn has left', async () => {
  let to = ''
  const w = await mailWorld({
    agents: {
      coder: {},
      writer: {
        model: 'scripted/x',
        script: async (turn) => {
          if (turn.tools.length > 0)
            await turn.tool('send-message', { session: to, message: 'm', elaborate: true })
          return 'written'
        },
      },
    },
  })
  to = await w.open('coder')
  await w.run('writer', 'go', { maxUsd: 1 })
  await w.run('writer', 'go without a limit')
  const written = (await w.events('message.sent')).filter(({ event }) => event.source === 'applet')
  expect(written.map(({ event }) => event.grant.nanoUsdMax)).toEqual([500_000_000, undefined])
})
