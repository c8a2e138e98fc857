/** A permission question as a person reads it: everything that would run, for whom, and nothing hidden. */
import type { EventOf } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { preview } from '../../model/text.ts'
import type { CommandInput } from '../command.ts'
import { askLine, dropTyped } from './prompt.ts'
import type { AskPerson } from '../show/watch.ts'
import { displayWidth, oneLine } from '../show/width.ts'

type Asked = Pick<EventOf<'question.asked'>, 'agent' | 'tool' | 'input' | 'path'>

/** Whoever says yes must have seen it: what is longer than this is said to be. */
const inputPointsMax = 2000
/** More would push who asks off the screen. */
const inputLinesMax = 30

/**
 * Who asks and what is asked for stand on lines of their own: no text of an agent can look like the words
 * around it.
 */
export const questionWords = ({ agent, tool, input, path }: Asked, width = 80): string =>
  [
    `${oneLine(agent)} wants to run ${oneLine(tool)}, on behalf of ${path.map(oneLine).join(' -> ')}:`,
    '',
    ...whole(inputLines(input)).flatMap((line) => indented(line, width)),
    '',
    'Allow? [y/N] ',
  ].join('\n')

function whole(lines: readonly string[]): string[] {
  const words = lines.join('\n')
  const cut = preview(lines.slice(0, inputLinesMax).join('\n'), inputPointsMax)
  return cut.length === words.length
    ? [...lines]
    : [...cut.split('\n'), `… (${words.length - cut.length} more characters)`]
}

const inset = 4

/** Broken here, because a terminal would go on at its edge, where our own words stand. */
function indented(line: string, width: number): string[] {
  const room = Math.max(8, width - inset - 1)
  const rows = ['']
  for (const point of line) {
    const row = `${rows.at(-1) ?? ''}${point}`
    if (displayWidth(row) > room) rows.push(point)
    else rows[rows.length - 1] = row
  }
  return rows.map((row, index) => `${index === 0 ? ' '.repeat(inset) : '  ↪ '}${row}`)
}

/** The only text of an input stands alone; otherwise all of it is shown as it is. */
function inputLines(input: Json): string[] {
  const values =
    input !== null && typeof input === 'object' && !Array.isArray(input) ? Object.values(input) : []
  return (values.length === 1 && typeof values[0] === 'string' ? values[0] : JSON.stringify(input))
    .split('\n')
    .map(visible)
}

/**
 * Nothing is left out and nothing acts: a character that moves the cursor, or that nobody sees, is shown by
 * its number.
 */
const visible = (line: string): string =>
  line
    .toWellFormed()
    .replaceAll('\t', '    ')
    .replaceAll(
      /(?! )[\p{Control}\p{Format}\p{Separator}\p{Default_Ignorable_Code_Point}]/gu,
      (unseen) => `\\u{${unseen.codePointAt(0)?.toString(16) ?? ''}}`,
    )

export const isYes = (line: string): boolean => /^\s*y(es)?\s*$/i.test(line)

/** Asks on the terminal that this command has; where it has none, nobody is asked. */
export function personHere(input: Pick<CommandInput, 'in' | 'err'>): AskPerson | undefined {
  const { in: from, err } = input
  if (from?.isTTY !== true || err.isTTY !== true) return undefined
  return async (question, signal) => {
    await dropTyped(from)
    const words = questionWords(question, err.columns)
    const last = words.lastIndexOf('\n') + 1
    err.write(words.slice(0, last))
    // Only the last line is the prompt: the line editor writes that again at every key.
    const line = await askLine(from, err, words.slice(last), signal)
    if (line === 'interrupted') process.emit('SIGINT')
    return line !== null && line !== 'interrupted' && isYes(line.text)
  }
}
