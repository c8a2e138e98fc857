import { expect, test } from 'vitest'
import { hostHub, type Host } from './hub.ts'

const program = (): Host => ({ sessions: new Map(), send: () => undefined })

test('a session that its program gives up is run by a spare one, and by nobody where there is none', () => {
  const hub = hostHub()
  const [first, spare] = [program(), program()]
  const attached: string[] = []
  hub.onAttached((session) => void attached.push(session))
  hub.attach(first, 'ses_a', 'a')
  hub.attach(first, 'ses_b', 'b')
  hub.attach(spare, 'ses_b', 'b', true)
  hub.drop(first, 'ses_a')
  expect([hub.isThere('ses_a'), attached]).toEqual([false, ['ses_a', 'ses_b']])
  hub.drop(first, 'ses_b')
  expect([hub.isThere('ses_b'), attached]).toEqual([true, ['ses_a', 'ses_b', 'ses_b']])
  hub.drop(spare, 'ses_b')
  expect(hub.isThere('ses_b')).toBe(false)
})
