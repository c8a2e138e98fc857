import { expect, test } from 'vitest'
import type { NewTrace } from '../../wire/tools.ts'
import type { OpencodeEvent } from './opencode-api.ts'
import { ToolTracing, type ToolTracingDeps } from './tool-tracing.ts'

test('a tool whose end opencode tells twice is written down once', async () => {
  const written: NewTrace[] = []
  const client = { tools: { trace: async (_id: string, traced: NewTrace) => void written.push(traced) } }
  const tracing = new ToolTracing({
    sessions: {
      taken: async () => ({ sessionId: 'ses_1', client }),
    } as unknown as ToolTracingDeps['sessions'],
    report: (text) => expect(text).toBe(''),
  })
  tracing.begun('s', 'c', 'bash', { command: 'ls' })
  const state = { status: 'completed', output: 'a', time: { start: 1 } }
  const part = { type: 'tool', sessionID: 's', callID: 'c', state }
  const event = { type: 'message.part.updated', properties: { part } } as unknown as OpencodeEvent
  tracing.handle(event)
  tracing.handle(event)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(written.map(({ ended }) => ended?.output ?? null)).toEqual([null, 'a'])
})
