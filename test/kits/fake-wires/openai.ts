/** Chat completions and responses, as OpenAI serves them. */
import { type Said, type Piece, type Wire, model, list, inputText, textIn, partsOf } from './wire.ts'

const chatUsage = (said: Said) =>
  said.usage === null
    ? null
    : {
        prompt_tokens: said.usage.input,
        completion_tokens: said.usage.output,
        total_tokens: said.usage.input + said.usage.output,
        prompt_tokens_details: { cached_tokens: said.usage.cached ?? 0 },
        completion_tokens_details: { reasoning_tokens: said.usage.reasoning ?? 0 },
      }

const chatFinish = { stop: 'stop', length: 'length', tools: 'tool_calls' } as const

const openaiError = (status: number, message: string) => ({
  error: { message, type: 'fake_error', code: String(status), param: null },
})

export const chat: Wire = {
  fits: (path) => path.endsWith('/chat/completions'),
  read(body) {
    const messages = list(body['messages'])
    const of = (role: string) => messages.filter((message) => message['role'] === role)
    const rounds = messages.filter(
      (message, index) => message['role'] === 'tool' && messages[index - 1]?.['role'] !== 'tool',
    ).length
    return {
      system: [...of('system'), ...of('developer')].map((message) => textIn(message['content'])).join('\n'),
      user: textIn(of('user').at(-1)?.['content']),
      results: of('tool').map((message) => textIn(message['content'])),
      toolRounds: rounds,
      stream: body['stream'] === true,
    }
  },
  stream(said) {
    const chunk = (delta: unknown, finish: string | null, usage?: unknown): Piece => ({
      data: {
        id: 'chat-1',
        object: 'chat.completion.chunk',
        created: 1,
        model,
        choices: delta === null ? [] : [{ index: 0, delta, finish_reason: finish }],
        ...(usage === undefined ? {} : { usage }),
      },
    })
    const calls = said.tools.map((tool, index) => ({
      index,
      id: tool.id,
      type: 'function',
      function: { name: tool.name, arguments: inputText(tool.input) },
    }))
    return [
      chunk({ role: 'assistant', content: '' }, null),
      ...partsOf(said.text).map((content) => chunk({ content }, null)),
      ...calls.map((call) => chunk({ tool_calls: [call] }, null)),
      chunk({}, chatFinish[said.finish]),
      ...(said.usage === null ? [] : [chunk(null, null, chatUsage(said))]),
      { data: '[DONE]' },
    ]
  },
  whole: (said) => ({
    id: 'chat-1',
    object: 'chat.completion',
    created: 1,
    model,
    usage: chatUsage(said),
    choices: [
      {
        index: 0,
        finish_reason: chatFinish[said.finish],
        message: {
          role: 'assistant',
          content: said.text,
          ...(said.tools.length > 0 && {
            tool_calls: said.tools.map((tool) => ({
              id: tool.id,
              type: 'function',
              function: { name: tool.name, arguments: inputText(tool.input) },
            })),
          }),
        },
      },
    ],
  }),
  error: openaiError,
}

const responsesItems = (said: Said) => [
  ...(said.text === ''
    ? []
    : [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: said.text, annotations: [] }],
        },
      ]),
  ...said.tools.map((tool, index) => ({
    type: 'function_call',
    id: `fc_${index}`,
    call_id: tool.id,
    name: tool.name,
    ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
    arguments: inputText(tool.input),
    status: 'completed',
  })),
]

const responsesWhole = (said: Said) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model,
  status: said.finish === 'length' ? 'incomplete' : 'completed',
  output: responsesItems(said),
  error: null,
  incomplete_details: said.finish === 'length' ? { reason: 'max_output_tokens' } : null,
  usage:
    said.usage === null
      ? null
      : {
          input_tokens: said.usage.input,
          output_tokens: said.usage.output,
          total_tokens: said.usage.input + said.usage.output,
          input_tokens_details: { cached_tokens: said.usage.cached ?? 0 },
          output_tokens_details: { reasoning_tokens: said.usage.reasoning ?? 0 },
        },
})

export const responses: Wire = {
  fits: (path) => path.endsWith('/responses'),
  read(body) {
    const items =
      typeof body['input'] === 'string'
        ? [{ role: 'user', content: body['input'] } as Record<string, unknown>]
        : list(body['input'])
    const system = items
      .filter((item) => item['role'] === 'system' || item['role'] === 'developer')
      .map((item) => textIn(item['content']))
    const isResult = (item: Record<string, unknown> | undefined) => item?.['type'] === 'function_call_output'
    return {
      system: [typeof body['instructions'] === 'string' ? body['instructions'] : '', ...system].join('\n'),
      user: textIn(items.findLast((item) => item['role'] === 'user')?.['content']),
      results: items
        .filter(isResult)
        .map((item) => (typeof item['output'] === 'string' ? item['output'] : textIn(item['output']))),
      toolRounds: items.filter((item, index) => isResult(item) && !isResult(items[index - 1])).length,
      stream: body['stream'] === true,
    }
  },
  stream(said) {
    const pieces: Piece[] = []
    const add = (type: string, fields: Record<string, unknown>): void =>
      void pieces.push({ event: type, data: { type, sequence_number: pieces.length, ...fields } })
    add('response.created', {
      response: { ...responsesWhole(said), output: [], status: 'in_progress', usage: null },
    })
    for (const [index, item] of responsesItems(said).entries()) {
      add('response.output_item.added', {
        output_index: index,
        item: item.type === 'message' ? { ...item, content: [] } : { ...item, arguments: '' },
      })
      if (item.type === 'message')
        for (const delta of partsOf(said.text))
          add('response.output_text.delta', {
            item_id: item.id,
            output_index: index,
            content_index: 0,
            delta,
          })
      else if ('arguments' in item)
        for (const delta of partsOf(item.arguments))
          add('response.function_call_arguments.delta', { item_id: item.id, output_index: index, delta })
      add('response.output_item.done', { output_index: index, item })
    }
    add(said.finish === 'length' ? 'response.incomplete' : 'response.completed', {
      response: responsesWhole(said),
    })
    return pieces
  },
  whole: responsesWhole,
  error: openaiError,
}
