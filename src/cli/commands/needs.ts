/** `tieline needs`: everything that waits for a person. */
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { printResult, type Command, type CommandInput } from '../command.ts'
import { withServer } from '../reach/reach.ts'
import { countNoun } from '../show/amounts.ts'
import { renderNeeds } from '../show/need-lines.ts'

const widthDefault = 80

export const needs: Command = {
  name: 'needs',
  words: [],
  help: 'Lists everything that waits for you: questions, drafts, mail, failed requests, projects',
  flags: { seen: { help: 'take the failed requests from the list: you have seen them' } },
  more: `
Each has its directory, its task, on whose behalf, what exactly would run and what the agent said last. Below
it is what to type next. The page shows the same at its first view.`,
  examples: [
    'tieline needs',
    'tieline answer last allow',
    'tieline needs --json | jq -r \'.[] | select(.kind == "question") | .id\'',
  ],
  run: (input: CommandInput): Promise<number> =>
    withServer(input, async ({ client }) => {
      const found = await client.needs(input)
      const failures = input.flags['seen'] === true ? found.filter(({ kind }) => kind === 'failure') : []
      for (const { id } of failures) await client.seeFlow(id, input)
      const left = found.filter((need) => !failures.includes(need))
      const width = input.out.columns ?? widthDefault
      const gone = failures.length === 0 ? [] : [`Seen: ${countNoun(failures.length, 'failed request')}.`]
      const text = left.length === 0 ? 'Nothing waits for you.' : renderNeeds(left, systemClock.now(), width)
      printResult(input, left, [...gone, text].join('\n'))
      return 0
    }),
}
