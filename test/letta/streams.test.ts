/** Streamed turns at the door for Letta's clients. */
import { NotFoundError } from '@letta-ai/letta-client'
import { describe, expect, test } from 'vitest'
import { all, ask, post, type Shown } from '../kits/letta.ts'
import { server, opened, create, listTypes } from '../kits/letta-agents.ts'

describe('streams', () => {
  const streamed = async (agent: string, body: object): Promise<Shown[]> =>
    all((await server.client.agents.messages.stream(agent, body as never)) as unknown as AsyncIterable<Shown>)

  test('have one chunk for each message, then why it stopped and what it used', async () => {
    const body = { messages: [{ role: 'user', content: 'look' }] }
    const chunks = await streamed('looker', body)
    expect(listTypes(chunks)).toEqual([
      'tool_call_message',
      'tool_return_message',
      'assistant_message',
      'stop_reason',
      'usage_statistics',
    ])
    expect(chunks[2]?.content).toBe('There is something.')
    const again = await all(
      (await server.client.agents.messages.create('looker', {
        input: 'look',
        streaming: true,
      })) as unknown as AsyncIterable<Shown>,
    )
    expect(listTypes(again)).toEqual(listTypes(chunks))
    const whole = await ask(server.client, 'looker', 'look')
    expect(listTypes(whole.messages)).toEqual(listTypes(chunks.slice(0, 3)))
  })

  test('have the text in pieces where tokens are asked for, each once, around the tools', async () => {
    const chunks = await streamed('looker', { input: 'look', stream_tokens: true })
    expect(listTypes(chunks)).toEqual([
      'assistant_message',
      'tool_call_message',
      'tool_return_message',
      'assistant_message',
      'stop_reason',
      'usage_statistics',
    ])
    expect([chunks[0]?.content, chunks[3]?.content]).toEqual(['Let me look.', 'There is something.'])
    expect(chunks[0]?.id).not.toBe(chunks[3]?.id)
    await create('stream-helper')
    const { id } = await create('stream-coordinator')
    const called = await streamed(id, { input: 'Ask stream-helper', stream_tokens: true })
    expect(listTypes(called)).toEqual([
      'tool_call_message',
      'tool_return_message',
      'assistant_message',
      'stop_reason',
      'usage_statistics',
    ])
  })

  test('show a call while it is under way', async () => {
    const response = await post(`${server.url}/v1/agents/asker/messages/stream`, { content: 'go' })
    const reader = response.body?.getReader()
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toMatch(
      /"message_type":"tool_call_message".*"name":"sub_agent"/,
    )
    opened()
    let rest = ''
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read())
      rest += Buffer.from(read.value as Uint8Array).toString()
    expect(rest.match(/"message_type":"\w+"/g)).toEqual(
      ['tool_return_message', 'assistant_message', 'stop_reason', 'usage_statistics'].map(
        (type) => `"message_type":"${type}"`,
      ),
    )
  })

  test('are plain data lines that end with [DONE]', async () => {
    const response = await post(`${server.url}/v1/agents/looker/messages/stream`, { content: 'look' })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const lines = (await response.text()).split('\n\n')
    expect(lines.slice(0, -1).every((line) => /^data: [^\n]+$/.test(line))).toBe(true)
    expect(lines.slice(-2)).toEqual(['data: [DONE]', ''])
  })

  test('tell of a failure in the stream, and of a refusal by its status', async () => {
    const chunks = await streamed('broken', { input: 'go' })
    expect(chunks.slice(0, 2)).toMatchObject([
      { message_type: 'system_message', is_err: true },
      { message_type: 'stop_reason', stop_reason: 'error' },
    ])
    await expect(streamed('nobody', { input: 'go' })).rejects.toThrow(NotFoundError)
    expect(
      (await post(`${server.url}/v1/agents/looker/messages/stream`, { input: 'x'.repeat(200_000) })).status,
    ).toBe(413)
  })
})
