/** A permission question as a person reads it: everything that would run, for whom, and nothing hidden. */
import type { EventOf } from '../model/event.ts'
import type { Json } from '../model/json.ts'
import { preview } from '../model/text.ts'
import type { CommandInput } from './command.ts'
import { askLine, dropTyped } from './prompt.ts'
import type { AskPerson } from './watch.ts'
import { oneLine } from './width.ts'

type Asked = Pick<EventOf<'question.asked'>, 'agent' | 'tool' | 'input' | 'path'>

/** Whoever says yes must have seen it: what is longer than this is said to be. */
const inputPointsMax = 2000

export const questionWords = ({ agent, tool, input, path }: Asked): string =>
  `${oneLine(agent)} wants to run ${oneLine(tool)}: ${whole(inputWords(input))} on behalf of ${path.map(oneLine).join(' -> ')}. Allow? [y/N] `

function whole(words: string): string {
  const cut = preview(words, inputPointsMax)
  return cut.length === words.length ? words : `${cut}… (${words.length - cut.length} more characters)`
}

/** The only text of an input stands alone; otherwise all of it is shown as it is. */
function inputWords(input: Json): string {
  const values = input !== null && typeof input === 'object' && !Array.isArray(input) ? Object.values(input) : []
  return visible(values.length === 1 && typeof values[0] === 'string' ? values[0] : JSON.stringify(input))
}

/** A line break, or a character that moves the cursor, must not hide what comes before it. */
const visible = (text: string): string => oneLine(text.replaceAll('\n', ' ⏎ '))

export const isYes = (line: string): boolean => /^\s*y(es)?\s*$/i.test(line)

/** Asks on the terminal that this command has; where it has none, nobody is asked. */
export function personHere(input: Pick<CommandInput, 'in' | 'err'>): AskPerson | undefined {
  const { in: from, err } = input
  if (from?.isTTY !== true || err.isTTY !== true) return undefined
  return async (question, signal) => {
    await dropTyped(from)
    const line = await askLine(from, err, questionWords(question), signal)
    if (line === 'interrupted') process.emit('SIGINT')
    return line !== null && line !== 'interrupted' && isYes(line.text)
  }
}
