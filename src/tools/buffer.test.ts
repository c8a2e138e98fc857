import { expect, test } from 'vitest'
import { blank } from '../../test/kits/message-facts.ts'
import type { MessageFacts } from '../model/facts.ts'
import type { ToolContext } from '../runtime/kernel/ports.ts'
import { buffer } from './buffer.ts'

/** What a list of these messages says is to be done with them. */
async function instruct(...statuses: MessageFacts['status'][]): Promise<unknown> {
  const messages = statuses.map((status, n) => blank({ id: `m${n + 1}`, status, text: 'hello' }))
  const page = { messages, total: messages.length, notices: [], boundary: '482' }
  const acts = { readInbox: async () => page } as unknown as ToolContext['acts']
  const { value } = await buffer.run({}, { acts } as ToolContext)
  return (value as { instruction: string }).instruction
}

test('messages that are ready are to be taken, and of others is spoken only where there are any', async () => {
  expect(await instruct('buffered')).toMatch(/^Show this list to the user\. Do not act/)
  expect(await instruct('ready', 'ready')).toMatch(/: m1, m2\. Take each with accept\.$/)
  expect(await instruct('ready', 'buffered')).toMatch(/: m1\. Take .* As for the others: Show this list/)
  expect(await instruct()).toBe('No message waits in this inbox.')
})
