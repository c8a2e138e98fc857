/** Messages, as Anthropic serves them. */
import { type Piece, type Said, type Wire, model, list, inputText, textIn, partsOf } from './wire.ts'

const anthropicFinish = { stop: 'end_turn', length: 'max_tokens', tools: 'tool_use' } as const

/** What is cached is counted apart here. */
const inputUsage = ({ usage }: Said) => {
  const { input = 0, cached = 0, cacheWrite = 0 } = usage ?? {}
  return {
    input_tokens: input - cached - cacheWrite,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: cacheWrite,
  }
}

export const anthropic: Wire = {
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
        usage: { ...inputUsage(said), output_tokens: 0 },
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
    usage: { ...inputUsage(said), output_tokens: said.usage?.output ?? 0 },
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
