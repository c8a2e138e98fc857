import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addEntry, addItem, removePart, type Part } from './jsonc-edit.ts'
import { parseJsonc } from './jsonc.ts'

const item = { run: 'x' }
const path = ['hooks', 'Stop'] as const
const ours: Part = { path, value: item, isItem: true }
const nothingWas = (): boolean => false

describe('an item is added', () => {
  test('to a list that is there, behind its last item and comment', () =>
    expect(addItem('{"hooks": {"Stop": [\n  1 // mine\n]}}', path, 2)).toBe(
      '{"hooks": {"Stop": [\n  1, // mine\n      2\n    ]}}',
    ))
  test('to a list that is missing', () =>
    expect(parseJsonc(addItem('{"hooks": {}}', path, item))).toEqual({ hooks: { Stop: [item] } }))
  test('and a comment in an empty object stays', () =>
    expect(addEntry('{ /* mine */ }', ['a'], 1)).toBe('{ /* mine */\n  "a": 1\n}'))
  test('but not to what is no list', () =>
    expect(() => addItem('{"hooks": {"Stop": 5}}', path, 2)).toThrow('hooks.Stop is not a list'))
})

describe('what was added is taken out again', () => {
  test('with the objects and lists that were made for it', () =>
    expect(removePart(addItem('{\n  "a": 1\n}\n', path, item), ours, nothingWas)).toBe('{\n  "a": 1\n}\n'))
  test('and what was there before stays, though it is empty', () =>
    expect(
      parseJsonc(removePart(addItem('{"hooks": {}}', path, item), ours, (at) => at.length === 1) ?? ''),
    ).toEqual({
      hooks: {},
    }))
  test('between others, with their comments', () =>
    expect(removePart('{"a": 1, // one\n "o": 2,\n // two\n "b": 3}', own('o', 2), nothingWas)).toBe(
      '{"a": 1, // one\n "b": 3}',
    ))
  test('as the last, and a trailing comma stays', () =>
    expect(removePart('{\n  "a": 1, // one\n  "o": 2,\n}', own('o', 2), nothingWas)).toBe(
      '{\n  "a": 1, // one\n}',
    ))
  test('as the last, and the comma before it goes', () =>
    expect(removePart('{\n  "a": 1, // one\n  "o": 2\n}', own('o', 2), nothingWas)).toBe(
      '{\n  "a": 1 // one\n}',
    ))
  test('unless it was changed', () => expect(removePart('{"o": 3}', own('o', 2), nothingWas)).toBe(undefined))
  test('and what is gone already needs nothing', () =>
    expect(removePart('{"a": 3}', own('o', 2), nothingWas)).toBe('{"a": 3}'))
  test('from any file, and everything else is still there', () => {
    const json = fc.dictionary(fc.string(), fc.jsonValue())
    fc.assert(
      fc.property(json, fc.integer({ min: 0, max: 4 }), fc.boolean(), (value, indent, isItem) => {
        fc.pre(!Object.hasOwn(value, 'hooks') && !Object.hasOwn(value, '__proto__'))
        const before = JSON.stringify(value, null, indent)
        const added = (isItem ? addItem : addEntry)(before, path, item)
        // Its program has written it anew.
        const anew = JSON.stringify(parseJsonc(added), null, 2)
        const back = removePart(anew, { ...ours, isItem }, nothingWas)
        expect(parseJsonc(back ?? '')).toEqual(JSON.parse(before))
      }),
    )
  })
})

function own(name: string, value: number): Part {
  return { path: [name], value, isItem: false }
}
