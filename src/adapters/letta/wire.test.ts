import { describe, expect, it } from 'vitest'
import type { Outcome } from '../../model/event.ts'
import { entryId, entryNumber, stopReason, toolCallMessage } from './wire.ts'

describe("Letta's words", () => {
  it('have a reason for every outcome', () => {
    const reasons: Record<Outcome, string> = {
      completed: 'end_turn',
      cancelled: 'cancelled',
      budget_exhausted: 'max_tokens_exceeded',
      failed: 'error',
      timed_out: 'error',
      refused: 'error',
      lost: 'error',
    }
    for (const [outcome, reason] of Object.entries(reasons))
      expect(stopReason({ outcome: outcome as Outcome, error: null })).toBe(reason)
    const failed = (error: string): string => stopReason({ outcome: 'failed', error })
    expect(
      [
        'iteration limit of 3 reached',
        'empty_output',
        'provider_garbage: x',
        'provider_error: 500',
        'script_failed: x',
      ].map(failed),
    ).toEqual(['max_steps', 'invalid_llm_response', 'invalid_llm_response', 'llm_api_error', 'error'])
  })

  it('know an entry by its session and number, and nothing else as one', () => {
    expect(entryNumber('ses_main-a-1', entryId('ses_main-a-1', 12))).toBe(12)
    for (const id of [
      'message-main-a-1-',
      'message-main-a-1-x',
      'message-main-a-1-1.5',
      'message-main-a-2-1',
      'message-1',
      '',
    ])
      expect(entryNumber('ses_main-a-1', id)).toBeNull()
  })

  it('show a call as its tool was asked', () => {
    const asked = (name: string, input: object): unknown =>
      (
        toolCallMessage('turn_1', { id: 'call_1', name, input: input as never, at: 0 })['tool_call'] as {
          arguments: string
        }
      ).arguments
    expect(asked('call_agent', { agent: 'a', task: 't' })).toBe('{"agent_id":"a","message":"t"}')
    expect(asked('sub_agent', { agent: 'a', task: 't' })).toBe('{"agent_name":"a","task":"t"}')
    expect(asked('subagent', { agent: 'a', task: 't' })).toBe('{"task":"t"}')
    expect(asked('read', { path: 'x' })).toBe('{"path":"x"}')
  })
})
