/** Blocking turns at the door for Letta's clients. */
import { describe, expect, test } from 'vitest'
import { all, ask, post, type Shown } from '../kits/letta.ts'
import { server, create, listTypes } from '../kits/letta-agents.ts'

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
    expect(listTypes(messages)).toEqual(['tool_call_message', 'tool_return_message', 'assistant_message'])
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
    expect(listTypes(whole)).toEqual(
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
      expect.stringMatching(/^The turn used up its tokens: /) as string,
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
