import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { editLine, startLiveTyping, renderTyped } from './typing.ts'
import { displayWidth } from '../show/width.ts'

describe('a line that is typed while an agent works', () => {
  const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  test('is kept until Enter, changed by the usual keys, and given back where it was not entered', async () => {
    const input = Object.assign(new PassThrough(), {
      raw: [] as boolean[],
      setRawMode: (on: boolean) => input.raw.push(on),
    })
    const heard: string[] = []
    let [interrupts, changes] = [0, 0]
    const typing = startLiveTyping(input, {
      prompt: 'a> ',
      begun: '/',
      handle: (line) => heard.push(line),
      interrupt: () => (interrupts += 1),
    })
    typing.onChange(() => (changes += 1))
    input.write('cancle\x7f\x7fel\rone two\x17\u0015three\x1b[A\x03 fo')
    await soon()
    expect([heard, interrupts, changes > 10]).toEqual([['/cancel'], 1, true])
    expect(typing.line(40, false)).toBe('a> three fo▏')
    typing.pause()
    typing.resume()
    input.write('ur')
    await soon()
    expect([typing.close(), input.raw]).toEqual(['three four', [true, false, true, false]])
  })

  test('says what can be typed where nothing is, and shows the end of what is too long', () => {
    expect(renderTyped('a> ', '', 80, false)).toContain('/cancel')
    expect(renderTyped('a> ', 'x'.repeat(30), 20, false)).toBe(`a> …${'x'.repeat(15)}▏`)
    expect(displayWidth(renderTyped('a> ', '世界'.repeat(30), 20, false))).toBeLessThanOrEqual(20)
    expect(renderTyped('a> ', 'x\u001b[2K\u202ey', 20, false)).toBe('a> x [2K y▏')
  })

  test('takes no control characters', () =>
    expect([
      editLine('a', '\u001b', {}),
      editLine('a', 'b', { meta: true }),
      editLine('a世', '', { name: 'backspace' }),
    ]).toEqual(['a', 'a', 'a']))
})
