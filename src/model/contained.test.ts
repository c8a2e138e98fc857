import { expect, test } from 'vitest'
import { callEach, contained, faultMessage, faultText, listen } from './contained.ts'

const fault = new Error('no')
const throws = (): never => {
  throw fault
}

test('a listener gets what it is given, and its fault goes to the owner', () => {
  const [got, faults]: [unknown[], unknown[]] = [[], []]
  contained(
    (one) => faults.push(one),
    (...given: unknown[]) => got.push(...given),
  )(1, 'two')
  expect([got, faults]).toEqual([[1, 'two'], []])
  contained((one) => faults.push(one), throws)()
  expect(faults).toEqual([fault])
})

test('what a listener promises and breaks goes to the owner too', async () => {
  const faults: unknown[] = []
  contained(
    (one) => faults.push(one),
    () => Promise.reject(fault),
  )()
  await Promise.resolve()
  await Promise.resolve()
  expect(faults).toEqual([fault])
})

test('an owner that throws ends nothing', () => {
  expect(() => contained(throws, throws)()).not.toThrow()
})

test('one that throws keeps none of the others from being called', () => {
  const [got, faults]: [string[], unknown[]] = [[], []]
  callEach(
    (one) => faults.push(one),
    [(text: string) => got.push(`a ${text}`), throws, (text: string) => got.push(`b ${text}`)],
    'x',
  )
  expect([got, faults]).toEqual([['a x', 'b x'], [fault]])
})

test('what a source emits is listened to, contained', () => {
  const heard: unknown[] = []
  const listeners = new Map<string, (given: string) => void>()
  const source = { on: (event: string, listener: (given: string) => void) => listeners.set(event, listener) }
  listen(
    source,
    'data',
    (one) => heard.push(one),
    (given: string) => {
      heard.push(given)
      throws()
    },
  )
  listeners.get('data')?.('piece')
  expect([[...listeners.keys()], heard]).toEqual([['data'], ['piece', fault]])
})

test('the words of a fault are its message, or what was thrown', () => {
  expect(faultMessage(fault)).toBe('no')
  expect(faultMessage('plain')).toBe('plain')
  expect(faultMessage(undefined)).toBe('undefined')
})

const withStack = (stack: string | undefined, cause?: unknown): Error =>
  Object.assign(new Error('why', cause === undefined ? {} : { cause }), { stack })

test.each<[string, unknown, string]>([
  ['an error', withStack('why\n at a'), 'why\n at a'],
  ['one without a stack', withStack(undefined), 'why'],
  ['one with an error behind it', withStack('top', withStack('below')), 'top\ncaused by: below'],
  [
    'one with an error without a stack behind it',
    withStack('top', withStack(undefined)),
    'top\ncaused by: why',
  ],
  ['one with a value behind it', withStack('top', { a: 1 }), 'top\ncaused by: {"a":1}'],
  ['what is no error', { a: 1 }, '{"a":1}'],
])('a log shows of %s where it came from and what was behind it', (_what, given, text) => {
  expect(faultText(given)).toBe(text)
})
