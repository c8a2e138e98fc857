import { expect, test } from 'vitest'
import { externalAgent } from '../../model/agent.ts'
import { findRunning, isThere, listen, type Runtime } from './runtime.ts'

test('the token of a turn means the turn that its program works in now', () => {
  const running = new Map([['turn_2', 'the second']])
  const continues = new Map([['turn_1', 'turn_2']])
  const runtime = { running, continues } as unknown as Runtime
  expect([findRunning(runtime, 'turn_1'), findRunning(runtime, 'turn_2')]).toEqual([
    'the second',
    'the second',
  ])
  expect(findRunning(runtime, 'turn_3')).toBeUndefined()
})

test('whoever stops listening leaves the others, and the last one leaves nothing behind', () => {
  const map = new Map<string, Set<() => void>>()
  const [one, other] = [(): void => undefined, (): void => undefined]
  const [forgetOne, forgetOther] = [listen(map, 'key', one), listen(map, 'key', other)]
  forgetOne()
  expect([...(map.get('key') ?? [])]).toEqual([other])
  forgetOther()
  expect(map.size).toBe(0)
  // Somebody else listens by now.
  listen(map, 'key', one)
  forgetOther()
  expect([...(map.get('key') ?? [])]).toEqual([one])
})

test('a session is run where its agent is there, its node may, and nothing is handed over or stopped', () => {
  const on = (more: Partial<Runtime>): boolean =>
    isThere(
      { drain: { isOn: false }, stopping: new AbortController(), agents: {}, ...more } as Runtime,
      externalAgent,
      { id: 'ses_1', cwd: '/' },
    )
  expect(on({})).toBe(true)
  expect(on({ agents: { isThere: () => false } as unknown as Runtime['agents'] })).toBe(false)
  expect(on({ place: { mayRun: () => false } as unknown as Runtime['place'] & object })).toBe(false)
  expect(on({ drain: { isOn: true, underWay: 0, onEmpty: null } })).toBe(false)
  const stopping = new AbortController()
  stopping.abort()
  expect(on({ stopping })).toBe(false)
})
