import { expect, test } from 'vitest'
import { createObserver } from './observe.ts'

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
