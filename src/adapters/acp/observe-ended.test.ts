import { expect, test } from 'vitest'
import type { SeenStep } from '../../runtime/kernel/driven-port.ts'
import { createObserver } from './observe.ts'

test('a tool that is told of again after its end is one step', () => {
  const steps: SeenStep[] = []
  const watched = {
    say: () => undefined,
    seen: (step: SeenStep) => void steps.push(step),
    holds: () => undefined,
    adds: () => undefined,
  }
  const observer = createObserver(watched, new Map(), '1')
  const tool = { sessionUpdate: 'tool_call', toolCallId: 't', title: 'ls', kind: 'read', status: 'pending' }
  observer.take(tool)
  for (const status of ['completed', 'completed', 'failed', 'in_progress'])
    observer.take({ ...tool, sessionUpdate: 'tool_call_update', status })
  expect(steps.map(({ key, ended }) => [key, ended?.ok ?? null])).toEqual([
    ['seen-1-t', null],
    ['seen-1-t', true],
  ])
})
