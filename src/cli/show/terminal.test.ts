import { readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { paint, segment } from './segment.ts'
import { control, openOutput, renderControls } from './terminal.ts'

test('our own controls act, those of others are shown', () => {
  expect(
    renderControls(`${control('2A')}x\u001b[2A${paint(segment('\u001b[31mred\u001b[8m', 'green'), true)}`),
  ).toBe('\u001b[2Ax␛[2A\u001b[32m␛[31mred␛[8m\u001b[39m')
})

test('the colours that we use do not act either when others write them', () => {
  expect(renderControls('\u001b[1mbold\u001b[22m')).toBe('␛[1mbold␛[22m')
})

test('a control of ours is no width', () => {
  expect(stripVTControlCharacters(paint(segment('four', 'bold'), true))).toBe('four')
})

test('a text that is split in the middle of a control is harmless', () => {
  const sent: string[] = []
  const output = openOutput(
    Object.assign(new PassThrough(), { write: (text: string) => sent.push(text) }) as never,
  )
  for (const part of ['a\u001b', '[2', 'J\u009d', '0;title\u0007']) output.write(part)
  expect(sent.join('')).toBe('a␛[2J<U+009D>0;title␇')
})

test('no other file of the program writes to a terminal', () => {
  const root = join(import.meta.dirname, '..')
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && file !== join('show', 'terminal.ts'),
  )
  const text = (file: string): string => readFileSync(join(root, file), 'utf8')
  expect(files.filter((file) => /console\.|process\.std(out|err)|\\u001b|\\x1b/.test(text(file)))).toEqual([])
  // A program on the other side, the line editor, and a look at what is on the other side.
  expect(files.filter((file) => /\bout(put)?\.raw\b/.test(text(file))).toSorted()).toEqual(
    ['chat/prompt.ts', 'commands/export.ts', 'commands/mcp.ts', 'commands/tail.ts'].map(normalize),
  )
})
