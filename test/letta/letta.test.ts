/** Persistent agents as Letta's own client sees them. */
import { BadRequestError, NotFoundError } from '@letta-ai/letta-client'
import { describe, expect, test } from 'vitest'
import { all, post } from '../kits/letta.ts'
import { server, create } from '../kits/letta-agents.ts'

describe('agents', () => {
  test('are made, read, and deleted', async () => {
    const made = await create('writer', {
      system: 'You write.',
      description: 'writes',
      tags: ['x'],
      memory_blocks: [{ label: 'persona', value: 'kind' }],
    })
    expect(made).toMatchObject({
      id: expect.stringMatching(/^agent_/) as unknown,
      name: 'writer',
      system: 'You write.\n\npersona: kind',
      description: 'writes',
      model: null,
      tools: [{ name: 'call_agent' }],
      blocks: [],
      tags: [],
    })
    expect(await server.client.agents.retrieve(made.id)).toEqual(made)
    expect(await server.client.agents.retrieve('writer')).toEqual(made)
    await server.client.agents.delete(made.id)
    await expect(server.client.agents.retrieve(made.id)).rejects.toThrow(NotFoundError)
    await expect(server.client.agents.delete(made.id)).rejects.toThrow(NotFoundError)
  })

  test('are listed page by page until the end, in both orders and backwards', async () => {
    const made: string[] = []
    for (let n = 0; n < 100; n += 1) made.push((await create(`many-${n}`)).id)
    const mine = (items: readonly { id: string }[]): string[] =>
      items.map(({ id }) => id).filter((id) => made.includes(id))
    expect(mine(await all(server.client.agents.list({ limit: 7, order: 'asc' })))).toEqual(made)
    expect(mine(await all(server.client.agents.list({ limit: 7 })))).toEqual(made.toReversed())
    expect(mine(await all(server.client.agents.list()))).toEqual(made.toReversed())
    const [middle = ''] = made.slice(50)
    const back = await server.client.agents.list({ before: middle, limit: 5, order: 'asc' })
    expect(mine(back.items)).toEqual(made.slice(45, 50))
    expect(mine(await all(back)).toSorted()).toEqual(made.slice(0, 50).toSorted())
    expect((await server.client.agents.list({ after: 'agent_nobody' })).items).toEqual([])
    expect((await server.client.agents.list({ before: 'agent_nobody' })).items).toEqual([])
    expect((await server.client.agents.list({ name: 'many-42' })).items.map(({ id }) => id)).toEqual([
      made[42],
    ])
    expect((await server.client.agents.list({ query_text: 'MANY-4', limit: 2000 })).items).toHaveLength(11)
    // What stands in the configuration is not listed here.
    expect((await server.client.agents.list({ name: 'looper' })).items).toEqual([])
    expect(await (await fetch(`${server.url}/v1/agents?after=&before=&limit=3&name=`)).json()).toHaveLength(3)
  })

  test('a wrong field is named, with what would be right', async () => {
    const errorOf = async (work: Promise<unknown>): Promise<unknown> =>
      work.then(
        () => null,
        (error: BadRequestError) => ({ status: error.status, ...(error.error as { error: object }).error }),
      )
    expect(await errorOf(server.client.agents.create({}))).toMatchObject({
      status: 400,
      code: 'bad_input',
      field: 'name',
      message: 'name is missing: it must be a text. Add it and try again.',
    })
    expect(await errorOf(create(' '))).toMatchObject({ status: 400, field: 'name' })
    expect(await errorOf(create('x', { tools: ['ok', 3] }))).toMatchObject({ status: 400, field: 'tools.1' })
    expect(await errorOf(server.client.agents.list({ limit: 0 }))).toMatchObject({
      status: 400,
      field: 'limit',
    })
    expect(await errorOf(server.client.agents.list({ order: 'up' }))).toMatchObject({
      status: 400,
      field: 'order',
    })
    const told = (body: object): Promise<unknown> =>
      errorOf(server.client.agents.messages.create('looker', body as never))
    expect(await told({})).toMatchObject({ status: 400, field: 'content' })
    expect(await told({ content: '' })).toMatchObject({ status: 400, field: 'content' })
    expect(await told({ content: 'a', input: 'b' })).toMatchObject({ status: 400, field: 'content' })
    expect(await told({ messages: [] })).toMatchObject({ status: 400, field: 'messages' })
    expect(await told({ messages: [{ role: 'assistant', content: 'I said' }] })).toMatchObject({
      status: 400,
      field: 'messages.0.role',
    })
    expect(
      await told({
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'image', source: {} },
            ],
          },
        ],
      }),
    ).toMatchObject({ status: 400, field: 'messages.0.content.1.type' })
    expect(await told({ messages: [{ type: 'approval', approve: true }] })).toMatchObject({
      status: 400,
      field: 'messages.0.type',
    })
    expect(await told({ input: 'a', override_model: 'x/y' })).toMatchObject({
      status: 400,
      field: 'override_model',
    })
    expect(await told({ input: 'x'.repeat(200_000) })).toMatchObject({ status: 413, code: 'too_large' })
    expect(await (await post(`${server.url}/v1/agents`, '[]')).json()).toMatchObject({
      error: { field: 'body' },
    })
    expect(await errorOf(server.client.agents.messages.create('nobody', { input: 'a' }))).toMatchObject({
      status: 404,
      code: 'agent_unknown',
    })
    expect(await errorOf(server.client.agents.messages.list('nobody'))).toMatchObject({
      status: 404,
      code: 'agent_unknown',
    })
    expect(
      await errorOf(
        server.client.agents.create({ name: 'x' }, { headers: { 'Idempotency-Key': 'x'.repeat(300) } }),
      ),
    ).toMatchObject({ status: 400, field: 'Idempotency-Key' })
  })
})

test('messages/async, conversations and PATCH answered 404 or 405 without saying what is there', async () => {
  const made = await create('patient')
  const asked: [string, string, RegExp][] = [
    ['POST', `/v1/agents/${made.id}/messages/async`, /Use POST \/v1\/agents\/:id\/messages/],
    ['PATCH', `/v1/agents/${made.id}`, /DELETE \/v1\/agents\/:id and POST \/v1\/agents/],
    ['GET', '/v1/conversations', /POST \/api\/sessions/],
    ['POST', '/v1/conversations/conv-1/messages', /POST \/api\/sessions/],
  ]
  for (const [method, path, words] of asked) {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(method === 'GET' ? {} : { body: '{}' }),
    })
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    expect([response.status, error.code]).toEqual([501, 'not_implemented'])
    expect(error.message).toMatch(words)
  }
})
