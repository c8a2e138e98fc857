/** Generated content, as Google serves it. */
import { partsOf, type Said, type Wire, model, record, list, textIn } from './wire.ts'

const googleFinish = { stop: 'STOP', length: 'MAX_TOKENS', tools: 'STOP' } as const

const googleUsage = (said: Said) =>
  said.usage === null
    ? {}
    : {
        usageMetadata: {
          promptTokenCount: said.usage.input,
          candidatesTokenCount: said.usage.output - (said.usage.reasoning ?? 0),
          thoughtsTokenCount: said.usage.reasoning ?? 0,
          cachedContentTokenCount: said.usage.cached ?? 0,
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

export const google: Wire = {
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
