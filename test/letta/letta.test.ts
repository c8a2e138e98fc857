/** Persistent agents as Letta's own client sees them. */
import { BadRequestError, NotFoundError } from '@letta-ai/letta-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { all, ask, lettaServer, post, type LettaServer, type Shown } from '../kits/letta.ts'

let server: LettaServer
let opened = (): void => undefined
beforeAll(async () => {
  server = await lettaServer({
    agents: {
      looper: {
        tools: ['list'],
        limits: { maxIterations: 3 },
        script: [{ say: 'Looking.', tools: [{ name: 'list', input: {} }] }],
      },
      looker: {
        tools: ['list'],
        script: [
          { when: { iteration: 1 }, say: 'Let me look.', tools: [{ name: 'list', input: {} }] },
          { say: 'There is something.' },
        ],
      },
      asker: {
        tools: ['sub_agent'],
        allowSubAgentCalls: true,
        script: [
          {
            when: { iteration: 1 },
            tools: [{ name: 'sub_agent', input: { agent_name: 'closed', task: 'Open.' } }],
          },
          { say: '{{result.output}}' },
        ],
      },
      closed: { script: () => new Promise((resolve) => (opened = () => resolve('opened'))) },
      broken: { script: [{ fail: 'out of order' }] },
      empty: { script: () => '' },
      poor: {
        limits: { maxTokens: 30 },
        script: async (turn) => {
          for (;;) await turn.think('Once upon a time.')
        },
      },
    },
  })
})
afterAll(() => server.close())

const create = (name: string, more: object = {}) => server.client.agents.create({ name, ...more })
const typesOf = (messages: readonly { message_type?: string }[]): (string | undefined)[] =>
  messages.map(({ message_type: type }) => type)

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
      message: 'name: nothing was given, but a value of type string is needed. Correct it and try again.',
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

describe('turns', () => {
  test('the walkthrough with curl: a coordinator asks its helper, without any key', async () => {
    const curl = async (path: string, body: object): Promise<Record<string, unknown>> =>
      (await (
        await post(`${server.url}${path}`, body, {
          'content-type': 'application/x-www-form-urlencoded',
          accept: '*/*',
        })
      ).json()) as Record<string, unknown>
    const helper = await curl('/v1/agents', { name: 'helper' })
    const coordinator = await curl('/v1/agents', { name: 'coordinator' })
    const answer = await curl(`/v1/agents/${String(coordinator['id'])}/messages`, {
      content: 'Ask the helper agent for assistance',
    })
    const messages = answer['messages'] as Shown[]
    expect(typesOf(messages)).toEqual(['tool_call_message', 'tool_return_message', 'assistant_message'])
    const [call, back, said] = messages
    expect(call).toMatchObject({
      tool_call: {
        name: 'call_agent',
        arguments: expect.stringContaining(String(helper['id'])) as unknown,
        tool_call_id: expect.stringMatching(/^call_/) as unknown,
      },
    })
    expect(back).toMatchObject({
      status: 'success',
      tool_call_id: (call?.['tool_calls'] as { tool_call_id: string }[] | undefined)?.[0]?.tool_call_id,
      tool_return: expect.stringContaining('This is helper, the offline demo agent') as unknown,
    })
    expect(said?.content).toMatch(
      /^This is coordinator, the offline demo agent[\s\S]*helper answered: This is helper/,
    )
    expect(answer['stop_reason']).toEqual({ message_type: 'stop_reason', stop_reason: 'end_turn' })
    for (const message of messages) expect(new Date(message.date).toISOString()).toBe(message.date)
    // The helper has its own conversation, in which somebody else spoke.
    const heard = await all(server.client.agents.messages.list(String(helper['id']), { order: 'asc' }))
    expect(heard).toMatchObject([
      { message_type: 'user_message', name: 'coordinator' },
      { message_type: 'assistant_message', name: null },
    ])
  })

  test('content may be a text, parts, or several messages; usage adds up', async () => {
    const { id } = await create('parts')
    const { messages, usage } = await ask(server.client, id, 'one')
    expect(messages[0]?.content).toContain('"one"')
    expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
    expect(usage.total_tokens).toBeGreaterThan(10)
    const send = async (body: object): Promise<string> =>
      ((await server.client.agents.messages.create(id, body as never)) as unknown as { messages: Shown[] })
        .messages[0]?.content ?? ''
    expect(
      await send({
        input: [
          { type: 'text', text: 'two' },
          { type: 'text', text: 'three' },
        ],
      }),
    ).toContain('"two\nthree"')
    expect(
      await send({
        messages: [
          { role: 'system', content: 'four' },
          { role: 'user', content: [{ text: 'five' }] },
        ],
      }),
    ).toContain('"four\n\nfive"')
  })

  test('a conversation is listed page by page, with the ids that its answers had', async () => {
    const { id } = await create('talker')
    const said: string[] = []
    for (let n = 1; n <= 5; n += 1)
      said.push((await ask(server.client, id, `word ${n}`)).messages[0]?.id ?? '')
    const list = (query: object = {}): Promise<Shown[]> =>
      all(server.client.agents.messages.list(id, query)) as unknown as Promise<Shown[]>
    const whole = await list({ order: 'asc', limit: 3 })
    expect(typesOf(whole)).toEqual(
      Array.from({ length: 5 }, () => ['user_message', 'assistant_message']).flat(),
    )
    expect(
      whole.filter(({ message_type: type }) => type === 'user_message').map(({ content }) => content),
    ).toEqual(['word 1', 'word 2', 'word 3', 'word 4', 'word 5'])
    expect(
      whole.filter(({ message_type: type }) => type === 'assistant_message').map((message) => message.id),
    ).toEqual(said)
    expect(await list({ limit: 4 })).toEqual(whole.toReversed())
    expect(await list()).toEqual(whole.toReversed())
    const page = async (query: object): Promise<number[]> =>
      (await server.client.agents.messages.list(id, query)).items.map((item) =>
        whole.findIndex((message) => message.id === (item as Shown).id),
      )
    const at = (index: number): string => whole[index]?.id ?? ''
    expect(await page({ order: 'asc', after: at(2), limit: 2 })).toEqual([3, 4])
    expect(await page({ order: 'asc', before: at(5), limit: 2 })).toEqual([3, 4])
    expect(await page({ order: 'asc', after: at(1), before: at(8), limit: 3 })).toEqual([2, 3, 4])
    expect(await page({ order: 'desc', after: at(5), limit: 2 })).toEqual([4, 3])
    expect(await page({ order: 'desc', before: at(5), limit: 2 })).toEqual([7, 6])
    expect(await page({ order: 'desc', before: at(1), after: at(8), limit: 3 })).toEqual([7, 6, 5])
    expect(await page({ after: 'message-of-somebody-else' })).toEqual([])
    expect(await list({ before: at(3), order: 'asc', limit: 2 })).toHaveLength(3)
  })

  test('what goes wrong is told with a reason to stop, not with a broken request', async () => {
    const told = async (agent: string) => {
      const { messages, stop_reason: stop } = await ask(server.client, agent, 'go')
      return [stop.stop_reason, messages.at(-1)?.message_type, messages.at(-1)?.content]
    }
    expect(await told('broken')).toEqual([
      'error',
      'system_message',
      'The turn failed: script_failed: out of order',
    ])
    expect(await told('empty')).toEqual([
      'invalid_llm_response',
      'system_message',
      'The turn failed: empty_output',
    ])
    expect(await told('looper')).toEqual([
      'max_steps',
      'system_message',
      'The turn failed: iteration limit of 3 reached',
    ])
    expect(await told('poor')).toEqual([
      'max_tokens_exceeded',
      'system_message',
      'The turn used up its tokens: the token budget is used up',
    ])
    const kept = (await all(
      server.client.agents.messages.list('broken', { order: 'asc' }),
    )) as unknown as Shown[]
    expect(kept.at(-1)).toMatchObject({
      message_type: 'assistant_message',
      is_err: true,
      content: '[script_failed: out of order]',
    })
  })
})

describe('streams', () => {
  const streamed = async (agent: string, body: object): Promise<Shown[]> =>
    all((await server.client.agents.messages.stream(agent, body as never)) as unknown as AsyncIterable<Shown>)

  test('have one chunk for each message, then why it stopped and what it used', async () => {
    const body = { messages: [{ role: 'user', content: 'look' }] }
    const chunks = await streamed('looker', body)
    expect(typesOf(chunks)).toEqual([
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
    expect(typesOf(again)).toEqual(typesOf(chunks))
    const whole = await ask(server.client, 'looker', 'look')
    expect(typesOf(whole.messages)).toEqual(typesOf(chunks.slice(0, 3)))
  })

  test('have the text in pieces where tokens are asked for, each once, around the tools', async () => {
    const chunks = await streamed('looker', { input: 'look', stream_tokens: true })
    expect(typesOf(chunks)).toEqual([
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
    expect(typesOf(called)).toEqual([
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
