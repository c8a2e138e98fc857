/** `tieline explain <id>`: why something stalled, or ended as it did. */
import { printResult, type Command, type CommandInput } from '../command.ts'
import { readRecorded } from '../reach/recorded-log.ts'
import { shortenIds } from '../show/short-id.ts'

export const explain: Command = {
  name: 'explain',
  words: ['<id>'],
  help: 'Explains why a call, session or flow stands still or ended: who waits for what, what was refused',
  flags: {},
  more: `
The first line says it for each root. It also knows permission questions, queues, budgets, programs that are
not connected, and mail that nobody took. A part of an id is enough; "last" is the newest flow.`,
  examples: [
    'tieline explain flow_01abc   one request and everything that it caused',
    'tieline explain ses_01abc    what a session is waiting for',
    'tieline explain last         the newest request',
  ],
  async run(input: CommandInput): Promise<number> {
    const id = input.words[0] ?? ''
    const { text, ...explanation } = await readRecorded(input, {
      server: (client) => client.explain(id, input),
      log: (log) => log.explain(id),
    })
    printResult(input, explanation, input.out.isTTY === true ? shortenIds(text) : text)
    return 0
  },
}
