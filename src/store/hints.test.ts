import { once } from 'node:events'
import { expect, test } from 'vitest'
import { type append, opened, sent, started } from '../../test/kits/store.ts'
import type { Hint } from '../runtime/kernel/store-port.ts'
import { collectHints, tellAll } from './hints.ts'

test('a listener that throws keeps the others from nothing, and a warning says so', async () => {
  const heard: string[] = []
  const hear = (hints: readonly Hint[]): void => void heard.push(...hints.map(({ kind }) => kind))
  const breaks = (): never => {
    throw new Error('a listener broke')
  }
  const warned = once(process, 'warning') as Promise<[Error]>
  tellAll([hear, breaks, hear], [{ kind: 'turn.queued', session: 'ses_a' }])
  expect(heard).toEqual(['turn.queued', 'turn.queued'])
  expect((await warned)[0].message).toBe('a listener broke')
})

test('a call or a message whose turn starts in the same commit is not queued, and others are', () => {
  const kinds = (...events: Parameters<typeof append>[1][]): string[] =>
    collectHints(events, { first: 1, at: 0 }).map((hint) =>
      hint.kind === 'turn.queued' ? `${hint.kind} ${hint.session}` : hint.kind,
    )
  const call = opened({ from: 'ses_a', in: 'turn_a', call: 'call_b', to: 'ses_b' })
  expect(kinds(call)).toEqual(['turn.queued ses_b', 'appended'])
  expect(kinds(call, started('ses_b', 'turn_b'))).toEqual(['appended'])
  const message = sent('ses_c', 'turn_c')
  expect(kinds(message, started('ses_b', 'turn_b'))).toEqual(['turn.queued ses_c', 'appended'])
  expect(kinds(message, started('ses_c', 'turn_c'))).toEqual(['appended'])
})
