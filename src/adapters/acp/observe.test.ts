import { expect, test } from 'vitest'
import { findOwnTool } from '../../model/permission.ts'
import type { SeenStep } from '../../runtime/kernel/driven-port.ts'
import { createObserver } from './observe.ts'
import { readAsked } from './permission.ts'

/** What is said of these updates: a text is a chunk of the message before it, `null` a tool. */
function hear(updates: readonly (string | null | { id: string; text: string })[]): string {
  let said = ''
  const watched = {
    say: (text: string) => void (said += text),
    seen: () => undefined,
    holds: () => undefined,
    adds: () => undefined,
  }
  const observer = createObserver(watched, new Map(), '1')
  for (const [at, update] of updates.entries())
    observer.take(
      update === null
        ? {
            sessionUpdate: 'tool_call',
            toolCallId: `tool-${at}`,
            title: 'ls',
            kind: 'read',
            status: 'pending',
          }
        : {
            sessionUpdate: 'agent_message_chunk',
            ...(typeof update === 'string' ? {} : { messageId: update.id }),
            content: { type: 'text', text: typeof update === 'string' ? update : update.text },
          },
    )
  return said
}

test('"I look at the commit.One finding": messages before and after a tool ran into each other', () => {
  expect(hear(['I look', ' at it.', null, 'One', ' finding.'])).toBe('I look at it.\n\nOne finding.')
  expect(
    hear([
      { id: '1', text: 'One' },
      { id: '1', text: ' message.' },
      { id: '2', text: 'Another.' },
    ]),
  ).toBe('One message.\n\nAnother.')
})

test('nothing is put before the first words, nor where a message ends its own line', () => {
  expect(hear([null, 'First.', '\n', null, '', 'Second.'])).toBe('First.\nSecond.')
})

test('news of a tool that runs already does not break a sentence in two', () => {
  let said = ''
  const observer = createObserver(
    {
      say: (text) => void (said += text),
      seen: () => undefined,
      holds: () => undefined,
      adds: () => undefined,
    },
    new Map(),
    '1',
  )
  const speak = (text: string): void =>
    observer.take({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  const tool = (sessionUpdate: string, status: string): void =>
    observer.take({ sessionUpdate, toolCallId: 'build', title: 'make', kind: 'execute', status })
  speak('I build it.')
  tool('tool_call', 'pending')
  speak('Meanwhile I ')
  tool('tool_call_update', 'in_progress')
  speak('read')
  tool('tool_call_update', 'completed')
  speak(' on.')
  expect(said).toBe('I build it.\n\nMeanwhile I read on.')
})

/** What is recorded of tools that each show `text` in every field that they have. */
function show(text: string, count: number): SeenStep[] {
  const steps: SeenStep[] = []
  const watched = {
    say: () => undefined,
    seen: (step: SeenStep) => void steps.push(step),
    holds: () => undefined,
    adds: () => undefined,
  }
  const observer = createObserver(watched, new Map(), '1')
  const diff = { type: 'diff', path: text, oldText: text, newText: text }
  for (let n = 0; n < count; n += 1)
    observer.take({
      sessionUpdate: 'tool_call',
      toolCallId: `${n} ${text}`,
      title: text,
      kind: text,
      rawInput: { text },
      locations: Array.from({ length: 300 }, () => ({ path: text })),
      content: [
        { type: 'content', content: { type: 'text', text } },
        ...Array.from({ length: 300 }, () => diff),
      ],
      status: 'completed',
    })
  return steps
}

test('R11: whatever a tool shows is bounded, one by one and all together', () => {
  const long = 'k'.repeat(300_000)
  const [one] = show(long, 1)
  expect(JSON.stringify(one).length).toBeLessThan(250_000)
  const all = show(long, 100)
  expect(all.length).toBeGreaterThan(10)
  expect(JSON.stringify(all).length).toBeLessThan(5_000_000)
})

test('a tool of ours with a long input is still known as ours', () => {
  const input = { server: 'tieline', tool: 'sub_agent', arguments: { task: 'x'.repeat(100_000) } }
  expect(findOwnTool(readAsked({ rawInput: input, kind: 'execute' }, undefined), new Map())).toBe('sub_agent')
})

test('a long title that begins like a tool of ours is none of ours', () => {
  const title = `mcp__tieline__${'a'.repeat(1000)} && rm -rf /`
  expect(findOwnTool(readAsked({ title }, undefined), new Map())).toBeNull()
})
