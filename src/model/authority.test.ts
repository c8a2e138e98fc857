import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  allowsTool,
  fullAuthority,
  isBroughtAlong,
  matchesTool,
  mayUse,
  meetTools,
  shrink,
  type Authority,
} from './authority.ts'

/** Few letters, so that names and patterns often meet. */
const name = fc.string({ unit: fc.constantFrom('a', 'b', '_'), minLength: 1, maxLength: 4 })
const pattern = fc.oneof(
  name,
  name.map((start) => `${start}*`),
  fc.constant('*'),
)
const allowed = fc.option(fc.array(pattern, { maxLength: 4 }), { nil: null })
const hop = fc.record({ allowed, nested: fc.boolean() })
const all = ['*']

const down = (hops: readonly { allowed: string[] | null; nested: boolean }[]): Authority =>
  hops.reduce((authority, at) => shrink(authority, at.allowed, at.nested), fullAuthority)

test('R7: along every chain, a callee may use a tool exactly if each allowed_tools on the path allows it', () => {
  fc.assert(
    fc.property(fc.array(hop, { maxLength: 5 }), name, (hops, tool) => {
      expect(mayUse(down(hops), all, tool)).toBe(
        hops.every((at) => at.allowed === null || allowsTool(at.allowed, tool)),
      )
    }),
    { numRuns: 3000 },
  )
})

test('R7: shrinking never widens: what the callee may use, its caller might have granted and the call allowed', () => {
  fc.assert(
    fc.property(fc.array(hop, { maxLength: 4 }), hop, name, (hops, last, tool) => {
      const before = down(hops)
      const after = shrink(before, last.allowed, last.nested)
      fc.pre(mayUse(after, all, tool))
      expect(mayUse(before, all, tool)).toBe(true)
      expect(mayUse(shrink(fullAuthority, last.allowed, last.nested), all, tool)).toBe(true)
    }),
    { numRuns: 3000 },
  )
})

test('R7: a wildcard that begins with an allowed name does not open what else begins so', () => {
  const shrunk = shrink({ tools: ['read'], nested: true }, ['read*'], true)
  expect(mayUse(shrunk, all, 'read')).toBe(true)
  expect(mayUse(shrunk, all, 'read_output')).toBe(false)
  expect(mayUse(shrink({ tools: ['read*'], nested: true }, ['read'], true), all, 'read_output')).toBe(false)
})

test("R7: both the ceiling and the agent's own list must allow a tool", () => {
  fc.assert(
    fc.property(
      fc.array(hop, { maxLength: 3 }),
      fc.array(pattern, { maxLength: 3 }),
      name,
      (hops, own, tool) => {
        expect(mayUse(down(hops), own, tool)).toBe(allowsTool(own, tool) && mayUse(down(hops), all, tool))
      },
    ),
  )
})

test('R7: nested calls that were forbidden once stay forbidden', () => {
  fc.assert(
    fc.property(fc.array(hop, { maxLength: 5 }), (hops) => {
      expect(down(hops).nested).toBe(hops.every(({ nested }) => nested))
    }),
  )
})

test('R7: an empty list allows nothing, and is not taken for no list', () => {
  expect(mayUse(shrink(fullAuthority, [], true), all, 'read')).toBe(false)
  expect(mayUse(shrink(shrink(fullAuthority, [], true), null, true), all, 'read')).toBe(false)
  expect(mayUse(shrink(fullAuthority, null, true), all, 'read')).toBe(true)
})

test.each([
  ['*', 'anything', true],
  ['read', 'read', true],
  ['read', 'read_output', false],
  ['read*', 'read', true],
  ['read*', 'read_output', true],
  ['files_*', 'files', false],
  ['files_*', 'files_read', true],
  ['READ', 'read', false],
  ['', 'read', false],
])('the pattern %s and the tool %s: %s', (wide, tool, matches) =>
  expect(matchesTool(wide, tool)).toBe(matches),
)

test('shrinking leaves what it was given as it was', () => {
  const authority: Authority = { tools: ['a', 'b*'], nested: true }
  const tools = ['a*']
  shrink(authority, tools, false)
  expect([authority, tools]).toEqual([{ tools: ['a', 'b*'], nested: true }, ['a*']])
})

test.each([
  ['wait_for_call', ['sub_agent', 'subagent', 'call_agent']],
  ['read_output', ['sub_agent', 'subagent', 'call_agent', 'wait_for_call']],
  ['buffer', ['send-message', 'send_agent_message']],
])('%s comes with the tools that are of no use without it', (tool, bringers) => {
  for (const bringer of bringers) {
    expect([bringer, mayUse(fullAuthority, [bringer], tool)]).toEqual([bringer, true])
    expect([bringer, mayUse({ tools: [bringer], nested: true }, all, tool)]).toEqual([bringer, true])
    expect([bringer, mayUse({ tools: [], nested: true }, [bringer], tool)]).toEqual([bringer, false])
  }
  expect(mayUse(fullAuthority, ['read'], tool)).toBe(false)
})

test('a tool that brings another is allowed by both lists itself', () => {
  expect(mayUse({ tools: ['call_agent'], nested: true }, ['sub_agent'], 'wait_for_call')).toBe(false)
})

test('only what an agent does not list itself is brought along', () => {
  expect(isBroughtAlong(['sub_agent'], 'wait_for_call')).toBe(true)
  expect(isBroughtAlong(['sub_agent'], 'read_output')).toBe(true)
  expect(isBroughtAlong(['sub_agent'], 'buffer')).toBe(false)
  expect(isBroughtAlong(['wait_*'], 'wait_for_call')).toBe(false)
})

test('R7: a call that allows everything keeps the ceiling as it is', () => {
  expect(shrink({ tools: ['a', 'b*'], nested: true }, null, true)).toEqual({
    tools: ['a', 'b*'],
    nested: true,
  })
  expect(shrink(fullAuthority, ['a'], true)).toEqual({ tools: ['a'], nested: true })
})

test('lists meet in what both allow, each pattern once', () => {
  expect(meetTools(['a', 'b*', 'c'], ['a', 'b_x', 'd'])).toEqual(['a', 'b_x'])
  expect(meetTools(['*'], ['a', 'b*'])).toEqual(['a', 'b*'])
  expect(meetTools(['a*'], ['a*'])).toEqual(['a*'])
  expect(meetTools(['a'], ['b'])).toEqual([])
  expect(fullAuthority).toEqual({ tools: null, nested: true })
})
