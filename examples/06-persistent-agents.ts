/**
 * Agents that keep their conversations, over HTTP and with Letta's own client. One asks another, and a retry
 * with the same key has no second effect. Without a model they run on the built-in offline demo agent.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Letta } from '@letta-ai/letta-client'
import { serve } from '../src/server/index.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'tieline-example-'))
const served = await serve({ port: 0, dataDir })
const client = new Letta({ baseURL: served.url, apiKey: served.token ?? 'none' })

// The same with curl: curl -X POST http://localhost:8283/v1/agents -d '{"name": "helper"}'
const helper = await client.agents.create({ name: 'helper', description: 'helps' })
const coordinator = await client.agents.create({ name: 'coordinator', system: 'You coordinate.' })

// The request blocks until the turn has ended. The answer includes what the agent did on the way.
const task = { messages: [{ role: 'user' as const, content: 'Ask the helper agent for assistance' }] }
const answer = await client.agents.messages.create(coordinator.id, task, {
  headers: { 'Idempotency-Key': 'walkthrough' },
})
assert.equal(answer.stop_reason.stop_reason, 'end_turn')
assert.deepEqual(
  answer.messages.map((message) => message.message_type),
  ['tool_call_message', 'tool_return_message', 'assistant_message'],
)
const said = answer.messages.at(-1)
assert.ok(said?.message_type === 'assistant_message' && typeof said.content === 'string')
assert.match(said.content, /helper answered: This is helper, the offline demo agent/)

// A retry with the same key returns the same turn: nothing runs twice.
assert.deepEqual(
  await client.agents.messages.create(coordinator.id, task, {
    headers: { 'Idempotency-Key': 'walkthrough' },
  }),
  answer,
)

// The helper was asked once, by the coordinator.
const heard = []
for await (const message of client.agents.messages.list(helper.id, { order: 'asc' })) heard.push(message)
assert.deepEqual(
  heard.map((message) => [message.message_type, message.name]),
  [
    ['user_message', 'coordinator'],
    ['assistant_message', null],
  ],
)

// The next turn as a stream: each message as it arrives, then why it stopped and what it used.
const kinds = []
for await (const chunk of await client.agents.messages.stream(coordinator.id, { input: 'Thank you.' }))
  kinds.push(chunk.message_type)
assert.deepEqual(kinds, ['assistant_message', 'stop_reason', 'usage_statistics'])

console.log(said.content)
await served.close()
await rm(dataDir, { recursive: true })
