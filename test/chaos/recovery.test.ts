import { expect, test } from 'vitest'
import { hadWholeNode } from '../../chaos/recovery.ts'
import type { Member } from '../../chaos/member.ts'

const member = (runs: boolean): Member => ({ isRunning: () => runs }) as Member

test('a return of the database is judged where some node was left alone, and only there', () => {
  const [a, b] = [member(true), member(true)]
  const touched = [{ member: a, from: 0, to: null as number | null }]
  expect(hadWholeNode({ members: [a, b], touched }, 100)).toBe(true)
  expect(hadWholeNode({ members: [a, member(false)], touched }, 100)).toBe(false)
  touched.push({ member: b, from: 50, to: 101 })
  expect(hadWholeNode({ members: [a, b], touched }, 100)).toBe(false)
  // A fault that was over before says nothing.
  expect(hadWholeNode({ members: [a, b], touched }, 101)).toBe(true)
})
