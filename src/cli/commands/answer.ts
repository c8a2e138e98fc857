/** `tieline answer <question> allow|deny`: answers a permission question. */
import { flagText, printResult, UsageError, type Command, type CommandInput } from '../command.ts'
import { withServer } from '../reach/reach.ts'
import { shortQuestion } from '../show/short-id.ts'

export const answer: Command = {
  name: 'answer',
  words: ['<question>', 'allow|deny'],
  help: 'Answers a permission question, once or for the whole session',
  flags: {
    'for-session': { help: 'with allow: also for what the session asks later about the same tool' },
    reason: { value: 'TEXT', help: 'with deny: why, which the agent reads' },
  },
  more: `
"tieline needs" shows the questions. A part of an id that only one has is enough; "last" is the newest. The
first answer counts.`,
  examples: [
    'tieline answer last allow',
    'tieline answer 3f9c allow --for-session',
    'tieline answer 3f9c deny --reason "Keep the old files"',
  ],
  async run(input: CommandInput): Promise<number> {
    const [question = '', word = ''] = input.words
    const given = readAnswer(word, input.flags['for-session'] === true, flagText(input.flags['reason']))
    return withServer(input, async ({ client }) => {
      const answered = await client.questions.answer(question, given, { signal: input.signal })
      const scope = given.scope === 'session' ? ', for the rest of its session' : ''
      const done = answered.answer === 'allow' ? 'Allowed' : 'Denied'
      printResult(input, answered, `${done}${scope}: ${showQuestion(input, answered.question)}`, '')
      return 0
    })
  },
}

const showQuestion = ({ out }: CommandInput, id: string): string =>
  out.isTTY === true ? shortQuestion(id) : id

/** What belongs together; exported for its test. */
export function readAnswer(word: string, session: boolean, reason: string | undefined) {
  if (word !== 'allow' && word !== 'deny') throw new UsageError(`"${word}" is no answer: say allow or deny.`)
  if (session && word === 'deny') throw new UsageError('--for-session goes with allow only.')
  if (reason !== undefined && word === 'allow') throw new UsageError('--reason goes with deny only.')
  return {
    answer: word,
    ...(session ? { scope: 'session' as const } : {}),
    ...(reason === undefined ? {} : { reason }),
  } as const
}
