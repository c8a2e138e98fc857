/** `tieline explain <id>`: why something stalled, or ended as it did. */
import type { Command, CommandInput } from './command.ts'
import { logFlags, printJson, withLog } from './recorded-log.ts'

export const explain: Command = {
  name: 'explain',
  words: ['<id>'],
  help: 'Says of a call, session or flow who waits for whom since when, what ended what, and what was refused',
  flags: logFlags,
  more: ['Everything comes from the log, also of what another process left behind.', '', 'Examples:', '  tieline explain flow_01abc   one request and everything that it caused', '  tieline explain ses_01abc    what a session is waiting for'],
  async run(input: CommandInput): Promise<number> {
    const { text, ...explanation } = await withLog(input, (log) => log.explain(input.words[0] ?? ''))
    if (input.flags['json'] === true) printJson(input.out, explanation)
    else input.out.write(`${text}\n`)
    return 0
  },
}
