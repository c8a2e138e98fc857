/** A permission question as a person reads it: everything that would run, for whom, with nothing hidden. */
import type { EventOf } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { preview } from '../../model/text.ts'
import type { CommandInput } from '../command.ts'
import { askLine, dropTyped } from './prompt.ts'
import type { AskPerson } from '../show/watch.ts'
import { displayWidth, oneLine } from '../show/width.ts'

type Asked = Pick<EventOf<'question.asked'>, 'agent' | 'tool' | 'input' | 'path'>

/** A person who agrees must have seen it, so that a cut is announced. */
const inputPointsMax = 2000
/** More lines would push the agent's name off the screen. */
const inputLinesMax = 30

/** Agent and input are on lines of their own, so that no text of an agent can look like our words. */
export const renderQuestion = ({ agent, tool, input, path }: Asked, width = 80): string =>
  [
    `${oneLine(agent)} wants to run ${oneLine(tool)}, on behalf of ${path.map(oneLine).join(' -> ')}:`,
    '',
    ...cutInput(readInput(input)).flatMap((line) => wrapLine(line, width)),
    '',
    'Allow? [y/N] ',
  ].join('\n')

function cutInput(lines: readonly string[]): string[] {
  const words = lines.join('\n')
  const cut = preview(lines.slice(0, inputLinesMax).join('\n'), inputPointsMax)
  return cut.length === words.length
    ? [...lines]
    : [...cut.split('\n'), `… (${words.length - cut.length} more characters)`]
}

const inset = 4

/** Wrapped here, because a terminal would continue at its edge, where only our own words may be. */
function wrapLine(line: string, width: number): string[] {
  const room = Math.max(8, width - inset - 1)
  const rows = ['']
  for (const point of line) {
    const row = `${rows.at(-1) ?? ''}${point}`
    if (displayWidth(row) > room) rows.push(point)
    else rows[rows.length - 1] = row
  }
  return rows.map((row, index) => `${index === 0 ? ' '.repeat(inset) : '  ↪ '}${row}`)
}

/** An input with a single text is shown as that text, any other as JSON. */
function readInput(input: Json): string[] {
  const values =
    input !== null && typeof input === 'object' && !Array.isArray(input) ? Object.values(input) : []
  return (values.length === 1 && typeof values[0] === 'string' ? values[0] : JSON.stringify(input))
    .split('\n')
    .map(showUnseen)
}

/** Characters that move the cursor, or that are invisible, are shown by their number. */
export const showUnseen = (line: string): string =>
  line
    .toWellFormed()
    .replaceAll('\t', '    ')
    .replaceAll(
      /(?! )[\p{Control}\p{Format}\p{Separator}\p{Default_Ignorable_Code_Point}]/gu,
      (unseen) => `\\u{${unseen.codePointAt(0)?.toString(16) ?? ''}}`,
    )

export const isYes = (line: string): boolean => /^\s*y(es)?\s*$/i.test(line)

/** Asks on the terminal of this command, if it has one. */
export function openPersonPrompt(input: Pick<CommandInput, 'in' | 'err'>): AskPerson | undefined {
  const { in: from, err } = input
  if (from?.isTTY !== true || err.isTTY !== true) return undefined
  return async (question, signal) => {
    await dropTyped(from)
    const words = renderQuestion(question, err.columns)
    const last = words.lastIndexOf('\n') + 1
    err.write(words.slice(0, last))
    // Only the last line is the prompt, because the line editor writes it again at every key.
    const line = await askLine(from, err, words.slice(last), signal)
    if (line === 'interrupted') process.emit('SIGINT')
    return line !== null && line !== 'interrupted' && isYes(line.text)
  }
}
