import { expect, test } from 'vitest'
import { started } from '../kits/client.ts'

test('a long export comes over HTTP as it is in the log, and others are answered meanwhile', async () => {
  const long = '😀\\"\n'.repeat(500_000)
  const agents = { long: { description: 'answers at length', script: () => `x${long}` } }
  const { served, client } = await started({ agents })
  await client.calls.open({ agent: 'long', task: 'speak' })
  const { text } = await served.line.log.export(null)
  let answered = 0
  let over = false
  const others = (async () => {
    for (; !over; answered += 1) await (await fetch(`${served.url}/health`)).arrayBuffer()
  })()
  const exported = await client.export()
  over = true
  await others
  expect(exported.text === text).toBe(true)
  expect(exported.header.events).toBe(text.split('\n').length - 2)
  expect(answered).toBeGreaterThan(3)
})
