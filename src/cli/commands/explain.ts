/** `tieline explain <id>`: why something stalled, or ended as it did. */
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { printResult, type Command, type CommandInput } from '../command.ts'
import { readRecorded } from '../reach/recorded-log.ts'
import { explainFlows, renderExplanation } from '../show/explain-flow.ts'
import { findFlows } from './flow.ts'

export const explain: Command = {
  name: 'explain',
  words: ['<id>'],
  help: 'Explains a call, session or flow: who waits for whom, what ended it, what was refused',
  flags: {},
  more: `
Everything comes from the log, including what another process left behind.`,
  examples: [
    'tieline explain flow_01abc   one request and everything that it caused',
    'tieline explain ses_01abc    what a session is waiting for',
  ],
  async run(input: CommandInput): Promise<number> {
    const id = input.words[0] ?? ''
    const { text, ...explanation } = await readRecorded<{ text: string }>(input, {
      async server(client) {
        const [flows, waits] = await Promise.all([findFlows(client, id), client.waits(input)])
        const explained = explainFlows(flows, waits, id, systemClock.now())
        return { ...explained, text: renderExplanation(explained).join('\n') }
      },
      log: (log) => log.explain(id),
    })
    printResult(input, explanation, text)
    return 0
  },
}
