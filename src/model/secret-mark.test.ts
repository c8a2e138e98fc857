import { expect, test } from 'vitest'
import { isAlikeButMarks, isMark, isSameButMarks, markPattern, secretMark } from './secret-mark.ts'

test('one mark stands for every secret; old logs have numbers in theirs', () => {
  expect(secretMark).toBe('[redacted]')
  expect(['[redacted]', '[redacted-12]'].map(isMark)).toEqual([true, true])
  for (const text of [
    '',
    '[redacted',
    '[redacted-]',
    'x[redacted]',
    '[redacted] x',
    '[redacted]\n',
    '[other]',
  ])
    expect([text, isMark(text)]).toEqual([text, false])
  expect(markPattern.exec('a [redacted-3] b')?.[0]).toBe('[redacted-3]')
  expect(markPattern.test('[redacted')).toBe(false)
})

const long = 'abababababababababababac'

test.each([
  ['the same', 'plain', 'plain', true],
  ['another', 'plain', 'plein', false],
  ['a secret at the end', 'use [redacted]', 'use x', true],
  ['a secret at the start', '[redacted] it', 'x it', true],
  ['a secret alone', '[redacted]', 'x', true],
  ['an old mark', 'use [redacted-2] now', 'use x now', true],
  ['a mark for nothing at all', 'a[redacted]b', 'ab', false],
  ['a mark for one character', 'a[redacted]b', 'axb', true],
  ['another start', 'use [redacted]', 'take x', false],
  ['another end', '[redacted] now', 'x then', false],
  ['two marks', 'a [redacted] b [redacted] c', 'a x b y c', true],
  ['two marks, the middle is missing', 'a [redacted] b [redacted] c', 'a x c y c', false],
  ['two marks, only one secret', 'a[redacted]b[redacted]c', 'axbc', false],
  ['two marks side by side', '[redacted][redacted]', 'xy', true],
  ['two marks for one character', '[redacted][redacted]', 'x', false],
  ['a middle that begins too early', 'a[redacted]b[redacted]', 'abxb', false],
  ['a middle found late', 'a[redacted]b[redacted]', 'abxby', true],
  ['a mark that was given too', 'use [redacted]', 'use [redacted]', true],
  ['a start and an end that overlap', 'ab[redacted]ba', 'aba', false],
  ['a long middle', `x[redacted]${long}[redacted]y`, `xQ${long}Qy`, true],
  ['a long middle after one that nearly is', `x[redacted]${long}[redacted]y`, `xQabababab${long}Qy`, true],
  ['a long middle that ends the text', `x[redacted]${long}[redacted]`, `xQ${long}`, false],
  ['a long middle that is missing', `x[redacted]${long}[redacted]y`, `xQ${long.slice(0, -1)}Qy`, false],
  ['a long middle without a secret before it', `x[redacted]${long}[redacted]y`, `x${long}Qy`, false],
  [
    'a long middle that breaks off inside of itself',
    'x[redacted]aabaabaaabaabaab[redacted]y',
    'xQaabaabaabaabaaabaabaabQy',
    true,
  ],
])('on record and given: %s', (_what, recorded, given, same) => {
  expect(isSameButMarks(recorded, given)).toBe(same)
})

test('where either side may have marks, one of them must be the other without its secrets', () => {
  expect(isAlikeButMarks('use [redacted]', 'use x')).toBe(true)
  expect(isAlikeButMarks('use x', 'use [redacted]')).toBe(true)
  expect(isAlikeButMarks('use x', 'use y')).toBe(false)
})

test('a long piece is found wherever `indexOf` finds it, however much it repeats itself', () => {
  let seed = 7
  const draw = (below: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below
  const drawText = (units: number): string =>
    Array.from({ length: units }, () => 'aab'[draw(97) % 3]).join('')
  const wrong: string[] = []
  for (let round = 0; round < 600; round += 1) {
    const piece = drawText(16 + draw(6))
    const around = drawText(30)
    const text =
      round % 2 === 0 ? `Q${drawText(draw(20))}${piece}${drawText(3)}` : `Q${around}${piece.slice(1)}x`
    const expected = text.indexOf(piece, 1) > 0 && text.indexOf(piece, 1) + piece.length < text.length
    if (isSameButMarks(`[redacted]${piece}[redacted]`, text) !== expected) wrong.push(`${piece} in ${text}`)
  }
  expect(wrong).toEqual([])
})
