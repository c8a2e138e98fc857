import { usageEstimator } from './estimate-usage.ts'
import { describe, expect, it } from 'vitest'
import { countWords, toolSpec } from '../../../test/kits/turns.ts'
import { type LoopMessage, type ModelRequest } from './loop.ts'

describe('usageEstimator', () => {
  it('counts each message of a turn once, also over many requests', () => {
    const counted: string[] = []
    const estimate = usageEstimator((text) => {
      counted.push(text)
      return countWords(text)
    })
    const messages: LoopMessage[] = [{ role: 'user', text: 'one two' }]
    const request: ModelRequest = {
      system: 'be good',
      messages,
      tools: [toolSpec('a')],
      maxOutputTokens: null,
      iteration: 1,
      idempotencyKey: 'k',
    }
    const first = estimate(request, 'three', [])
    messages.push(
      { role: 'assistant', text: 'three', toolCalls: [] },
      { role: 'tool', id: '1', name: 'a', ok: true, value: 'four five six' },
    )
    const second = estimate(request, '', [{ id: '2', name: 'a', input: { q: 1 } }])
    expect(second.input - first.input).toBe(4)
    expect(first).toMatchObject({ output: 1, estimated: true })
    expect(second.output).toBeGreaterThan(0)
    expect(counted.filter((text) => text === 'one two' || text === 'be good')).toHaveLength(2)
  })

  it('counts a request that is cut off once, as long as nothing more was said', () => {
    let counts = 0
    const estimate = usageEstimator((text) => {
      counts += 1
      return countWords(text)
    })
    const messages: LoopMessage[] = [{ role: 'user', text: 'one two' }]
    const request: ModelRequest = {
      system: '',
      messages,
      tools: [],
      maxOutputTokens: null,
      iteration: 1,
      idempotencyKey: 'k',
    }
    const first = estimate.atOnce(request, 'three')
    const before = counts
    expect(estimate.atOnce(request, 'three')).toEqual(first)
    expect(counts).toBe(before)
    expect(estimate.atOnce(request, 'three four').output).toBe(first.output + 1)
    messages.push({ role: 'user', text: 'five' })
    expect(estimate.atOnce(request, 'three four').input).toBe(first.input + 1)
  })

  it('takes the count of an entry from the log', () => {
    const estimate = usageEstimator(countWords)
    const request: ModelRequest = {
      system: '',
      messages: [{ role: 'user', text: 'one two', tokens: 77 }],
      tools: [],
      maxOutputTokens: null,
      iteration: 1,
      idempotencyKey: 'k',
    }
    expect(estimate(request, '', []).input).toBe(77)
  })

  it('counts samples of a long text where a request is cut off, and all of it afterwards', () => {
    let units = 0
    const estimate = usageEstimator((text) => {
      units += text.length
      return text.length
    })
    const long = 'x'.repeat(1_000_000)
    const request: ModelRequest = {
      system: '',
      messages: [
        { role: 'user', text: 'a task' },
        { role: 'tool', id: '1', name: 'a', ok: true, value: long },
      ],
      tools: [],
      maxOutputTokens: null,
      iteration: 1,
      idempotencyKey: 'k',
    }
    expect(estimate.atOnce(request, long)).toEqual({
      input: 6 + 1_000_000,
      output: 1_000_000,
      estimated: true,
    })
    expect(units).toBeLessThan(20_000)
    expect(estimate(request, '', []).input).toBe(6 + 1_000_000)
    expect(units).toBeGreaterThan(1_000_000)
  })

  it('counts a part of many long messages: a cancelled turn held everybody up while it counted all', () => {
    let units = 0
    const estimate = usageEstimator((text) => {
      units += text.length
      return Math.ceil(text.length / 4)
    })
    const text = 'abcd'.repeat(1000)
    const request: ModelRequest = {
      system: '',
      messages: Array.from({ length: 200 }, () => ({ role: 'user', text })),
      tools: [],
      maxOutputTokens: null,
      iteration: 1,
      idempotencyKey: 'k',
    }
    expect(estimate.atOnce(request, text)).toEqual({ input: 200_000, output: 1000, estimated: true })
    expect(units).toBeLessThan(20_000)
  })
})
