/** A permission question as a person reads it: everything that would run, for whom, with nothing hidden. */
import type { Json } from '../../model/json.ts'
import type { Need } from '../../wire/needs.ts'
import type { NewAnswer } from '../../wire/questions.ts'
import type { CommandInput } from '../command.ts'
import { askLine, dropTyped } from './prompt.ts'
import type { AskPerson } from '../show/watch.ts'
import { displayWidth, oneLine } from '../show/width.ts'

/** The question itself, and what the server adds so that nothing else has to be opened. */
export type Asked = Pick<Need, 'agent' | 'tool' | 'input' | 'path'> &
  Partial<Pick<Need, 'cwd' | 'task' | 'request' | 'lastWords'>>

/**
 * Agent and texts are on lines of their own, so that no text of an agent can look like our words. A person who
 * agrees must have seen everything that would run, so nothing is cut.
 */
export function renderQuestion(asked: Asked, width = 80): string {
  const { agent, tool, input, path, cwd = '', task = '', request = '', lastWords = '' } = asked
  const block = (name: string, text: string): string[] =>
    text.trim() === '' ? [] : [name, ...renderForeign(text.split('\n'), width)]
  const behalf = path.length < 2 ? '' : `, on behalf of ${path.map(oneLine).join(' -> ')}`
  return [
    `${oneLine(agent)} wants to run ${oneLine(tool ?? '')}${behalf}:`,
    '',
    ...renderForeign(readInput(input), width),
    '',
    ...(cwd === '' ? [] : [`In ${oneLine(cwd)}`]),
    ...block('Its task:', task),
    ...(request === task ? [] : block('The request:', request)),
    ...block('It said last:', lastWords),
    `Allow? [y]es, for this [s]ession, [N]o, or say why not: `,
  ].join('\n')
}

export const renderForeign = (lines: readonly string[], width: number): string[] =>
  lines.map(showUnseen).flatMap((line) => wrapLine(line, width))

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
export function readInput(input: Json): string[] {
  const values =
    input !== null && typeof input === 'object' && !Array.isArray(input) ? Object.values(input) : []
  return (values.length === 1 && typeof values[0] === 'string' ? values[0] : JSON.stringify(input)).split(
    '\n',
  )
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

/** Yes, yes for the session, no, or no with a reason. Only a clear yes is one. */
export function readReply(line: string): NewAnswer {
  const word = line.trim()
  if (isYes(word)) return { answer: 'allow' }
  if (/^s(ession)?$/i.test(word)) return { answer: 'allow', scope: 'session' }
  return word === '' || /^no?$/i.test(word) ? { answer: 'deny' } : { answer: 'deny', reason: word }
}

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
    return line === null || line === 'interrupted' ? { answer: 'deny' } : readReply(line.text)
  }
}
