import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addEntry } from './jsonc-edit.ts'
import { JsoncError, parseJsonc } from './jsonc.ts'

const entry = { command: 'x', args: ['y'] }
const path = ['servers', 'ours'] as const

describe('an entry is added', () => {
  test.each([
    [
      'nothing',
      '',
      '{\n  "servers": {\n    "ours": {\n      "command": "x",\n      "args": [\n        "y"\n      ]\n    }\n  }\n}\n',
    ],
    [
      'an empty object',
      '{}\n',
      '{\n  "servers": {\n    "ours": {\n      "command": "x",\n      "args": [\n        "y"\n      ]\n    }\n  }\n}\n',
    ],
  ])('to %s', (_what, before, after) => expect(addEntry(before, path, entry)).toBe(after))

  test('and comments, order, indentation and commas stay as they are', () => {
    const [before, after] = [
      '// mine\n{\n\t"theme": "dark", // yes\n\t"servers": {\n\t\t/* keep */\n\t\t"other": { "command": "a" },\n',
      '\t},\n}\n',
    ]
    const added = '\t\t"ours": {\n\t\t\t"command": "x",\n\t\t\t"args": [\n\t\t\t\t"y"\n\t\t\t]\n\t\t}\n'
    expect(addEntry(`${before}${after}`, path, entry)).toBe(`${before}${added}${after}`)
  })

  test('after a comment that follows the last member', () => {
    const added = addEntry('{\n  "servers": {\n    "other": 1 // one\n    // two\n  }\n}', path, 5)
    expect(added).toBe('{\n  "servers": {\n    "other": 1, // one\n    // two\n    "ours": 5\n  }\n}')
  })

  test('with the line ends of the file', () =>
    expect(addEntry('{\r\n  "a": 1\r\n}\r\n', ['b', 'c'], 2)).toBe(
      '{\r\n  "a": 1,\r\n  "b": {\r\n    "c": 2\r\n  }\r\n}\r\n',
    ))

  test('to any file, and everything that was in it is still there', () => {
    const json = fc.dictionary(fc.string(), fc.jsonValue())
    fc.assert(
      fc.property(json, fc.integer({ min: 0, max: 4 }), fc.string(), (value, indent, name) => {
        fc.pre(!Object.hasOwn(value, 'servers') && name !== '__proto__' && !Object.hasOwn(value, '__proto__'))
        const before = JSON.stringify(value, null, indent)
        expect(parseJsonc(addEntry(before, ['servers', name], entry))).toEqual({
          ...(JSON.parse(before) as object),
          servers: { [name]: entry },
        })
      }),
    )
  })
})

test('what is no JSON is told with its place', () => {
  const problem = (text: string): string => {
    try {
      return JSON.stringify(parseJsonc(text))
    } catch (error) {
      return error instanceof JsoncError ? error.message : String(error)
    }
  }
  expect(problem('{\n  "a": 1\n  "b": 2\n}')).toBe('line 3, column 3: a comma or "}" is missing')
  expect(problem('{ "a": }')).toBe('line 1, column 8: a value is missing')
  expect(problem('{ "a": 1')).toBe('line 1, column 9: a comma or "}" is missing')
  expect(problem('{} {}')).toBe('line 1, column 4: something follows the end')
  expect(problem("{ 'a': 1 }")).toBe('line 1, column 3: a name in quotes is missing')
  expect(problem('{ "a": 1, "a": 2 }')).toBe('line 1, column 15: "a" is there twice')
})

test('what cannot be changed safely is not changed', () => {
  expect(() => addEntry('[]', path, entry)).toThrow('the file is not an object')
  expect(() => addEntry('{ "servers": [] }', path, entry)).toThrow('servers is not an object')
  expect(() => addEntry('{ "servers": { "ours": null } }', path, entry)).toThrow(
    'servers.ours is there already',
  )
})

test('what stands between two comments counts', () => {
  const text = '/* one */ { /* two */ "a": 1, /* three\n */ "b": [/**/ 2 /* four */] } // five'
  expect(parseJsonc(text)).toEqual({ a: 1, b: [2] })
})
