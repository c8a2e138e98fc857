/** `tieline explain <id>`: why something stalled, or ended as it did. */
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { printJson, type Command, type CommandInput } from '../command.ts'
import { explainFlows, explanationLines } from '../show/explain-flow.ts'
import { findFlows } from './flow.ts'

export const explain: Command = {
  name: 'explain',
  words: ['<id>'],
  help: 'Says of a call, session or flow who waits for whom since when, what ended what, and what was refused',
  flags: {},
  more: [
    'Everything comes from the log, also of what another process left behind.',
    '',
    'Examples:',
    '  tieline explain flow_01abc   one request and everything that it caused',
    '  tieline explain ses_01abc    what a session is waiting for',
  ],
  async run(input: CommandInput): Promise<number> {
    const id = input.words[0] ?? ''
    const { look } = await import('../reach/recorded-log.ts')
    const { text, ...explanation } = await look<{ text: string }>(input, {
      async server(client) {
        const [flows, waits] = await Promise.all([findFlows(client, id), client.waits(input)])
        const found = explainFlows(flows, waits, id, systemClock.now())
        return { ...found, text: explanationLines(found).join('\n') }
      },
      log: (log) => log.explain(id),
    })
    if (input.flags['json'] === true) printJson(input.out, explanation)
    else input.out.write(`${text}\n`)
    return 0
  },
}
