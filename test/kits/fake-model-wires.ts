/**
 * The wires that the fake model speaks: each reads a request into one shape and words one answer, streamed
 * and whole.
 */

export type Asked = { system: string; user: string; results: string[]; toolRounds: number; stream: boolean }
export type Said = {
  text: string
  tools: { id: string; name: string; input: unknown }[]
  usage: { input: number; output: number } | null
  finish: 'stop' | 'length' | 'tools'
}
/** `event` is the name of a server-sent event, where the wire names them. */
export type Piece = { event?: string; data: unknown }
export type Wire = {
  fits: (path: string) => boolean
  read: (body: Record<string, unknown>, path: string) => Asked
  stream: (said: Said) => Piece[]
  whole: (said: Said) => unknown
  error: (status: number, message: string) => unknown
}

const model = 'fake'
const record = (value: unknown): Record<string, unknown> =>
  value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {}
const list = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.map(record) : [])
const inputText = (input: unknown): string => (typeof input === 'string' ? input : JSON.stringify(input))
/** Content is a text or a list of parts, in all wires. */
const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : list(content)
        .map((part) => (typeof part['text'] === 'string' ? part['text'] : ''))
        .join('')

/** Pieces of a few code points, so that readers see text that comes in parts. */
export const partsOf = (text: string): string[] => {
  const points = Array.from(text)
  return Array.from({ length: Math.ceil(points.length / 6) }, (_, index) =>
    points.slice(index * 6, index * 6 + 6).join(''),
  )
}

const chatUsage = (said: Said) =>
  said.usage === null
    ? null
    : {
        prompt_tokens: said.usage.input,
        completion_tokens: said.usage.output,
        total_tokens: said.usage.input + said.usage.output,
      }
const chatFinish = { stop: 'stop', length: 'length', tools: 'tool_calls' } as const
const openaiError = (status: number, message: string) => ({
  error: { message, type: 'fake_error', code: String(status), param: null },
})

const chat: Wire = {
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
        },
})

const responses: Wire = {
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

const anthropicFinish = { stop: 'end_turn', length: 'max_tokens', tools: 'tool_use' } as const

const anthropic: Wire = {
  fits: (path) => path.endsWith('/messages'),
  read(body) {
    const messages = list(body['messages'])
    const parts = (message: Record<string, unknown>) =>
      typeof message['content'] === 'string'
        ? [{ type: 'text', text: message['content'] }]
        : list(message['content'])
    const isResult = (part: Record<string, unknown>) => part['type'] === 'tool_result'
    const users = messages.filter((message) => message['role'] === 'user').map(parts)
    const system = messages
      .filter((message) => message['role'] === 'system')
      .map((message) => textIn(message['content']))
    return {
      system: [textIn(body['system']), ...system].join('\n'),
      user:
        users
          .map((content) => textIn(content.filter((part) => !isResult(part))))
          .findLast((text) => text !== '') ?? '',
      results: users
        .flat()
        .filter(isResult)
        .map((part) => textIn(part['content'])),
      toolRounds: users.filter((content) => content.some(isResult)).length,
      stream: body['stream'] === true,
    }
  },
  stream(said) {
    const pieces: Piece[] = []
    const add = (type: string, fields: Record<string, unknown>): void =>
      void pieces.push({ event: type, data: { type, ...fields } })
    add('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        usage: { input_tokens: said.usage?.input ?? 0, output_tokens: 0 },
      },
    })
    if (said.text !== '') {
      add('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
      for (const text of partsOf(said.text))
        add('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
      add('content_block_stop', { index: 0 })
    }
    for (const [index, tool] of said.tools.entries()) {
      add('content_block_start', {
        index: index + 1,
        content_block: { type: 'tool_use', id: tool.id, name: tool.name, input: {} },
      })
      for (const part of partsOf(inputText(tool.input)))
        add('content_block_delta', {
          index: index + 1,
          delta: { type: 'input_json_delta', partial_json: part },
        })
      add('content_block_stop', { index: index + 1 })
    }
    add('message_delta', {
      delta: { stop_reason: anthropicFinish[said.finish], stop_sequence: null },
      usage: { output_tokens: said.usage?.output ?? 0 },
    })
    add('message_stop', {})
    return pieces
  },
  whole: (said) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    stop_reason: anthropicFinish[said.finish],
    stop_sequence: null,
    usage: { input_tokens: said.usage?.input ?? 0, output_tokens: said.usage?.output ?? 0 },
    content: [
      ...(said.text === '' ? [] : [{ type: 'text', text: said.text }]),
      ...said.tools.map((tool) => ({ type: 'tool_use', id: tool.id, name: tool.name, input: tool.input })),
    ],
  }),
  error: (status, message) => ({
    type: 'error',
    error: { type: status === 529 ? 'overloaded_error' : 'api_error', message },
  }),
}

const googleFinish = { stop: 'STOP', length: 'MAX_TOKENS', tools: 'STOP' } as const
const googleUsage = (said: Said) =>
  said.usage === null
    ? {}
    : {
        usageMetadata: {
          promptTokenCount: said.usage.input,
          candidatesTokenCount: said.usage.output,
          totalTokenCount: said.usage.input + said.usage.output,
        },
      }
const googleChunk = (parts: unknown[], finish: string | null, said: Said) => ({
  candidates: [
    { index: 0, content: { role: 'model', parts }, ...(finish !== null && { finishReason: finish }) },
  ],
  modelVersion: model,
  ...(finish !== null && googleUsage(said)),
})
const googleCalls = (said: Said) =>
  said.tools.map((tool) => ({
    functionCall: { name: tool.name, args: tool.input },
    thoughtSignature: `signature-of-${tool.id}`,
  }))

const google: Wire = {
  fits: (path) => /:(stream)?generateContent$/i.test(path),
  read(body, path) {
    const users = list(body['contents'])
      .filter((content) => content['role'] === 'user')
      .map((content) => list(content['parts']))
    const isResult = (part: Record<string, unknown>) => 'functionResponse' in part
    return {
      system: textIn(record(body['systemInstruction'])['parts']),
      user: users.map(textIn).findLast((text) => text !== '') ?? '',
      results: users
        .flat()
        .filter(isResult)
        .map((part) => JSON.stringify(record(part['functionResponse'])['response'])),
      toolRounds: users.filter((parts) => parts.some(isResult)).length,
      stream: path.endsWith(':streamGenerateContent'),
    }
  },
  stream: (said) => [
    ...partsOf(said.text).map((text) => ({ data: googleChunk([{ text }], null, said) })),
    { data: googleChunk(googleCalls(said), googleFinish[said.finish], said) },
  ],
  whole: (said) =>
    googleChunk(
      [...(said.text === '' ? [] : [{ text: said.text }]), ...googleCalls(said)],
      googleFinish[said.finish],
      said,
    ),
  error: (status, message) => ({
    error: { code: status, message, status: status === 429 ? 'RESOURCE_EXHAUSTED' : 'INVALID_ARGUMENT' },
  }),
}

export const wires = { chat, responses, anthropic, google } as const
export type WireName = keyof typeof wires
