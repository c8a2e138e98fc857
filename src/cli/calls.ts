/** `tieline calls`: the calls of a log, newest first. */
import { timeWords } from './amounts.ts'
import { UsageError, type Command, type CommandInput, type Flag } from './command.ts'
import { flagText, logFlags, printJson, withLog } from './recorded-log.ts'
import { cutWidth, firstLine, oneLine } from './width.ts'

const shownDefault = 20
const taskWidth = 60

export const limitFlag: Flag = { value: 'COUNT', help: `how many, newest first; otherwise ${shownDefault}` }

export const calls: Command = {
  name: 'calls', words: [], help: 'Lists calls, newest first: who called whom, how it ended, what it cost', flags: { limit: limitFlag, ...logFlags },
  more: ['Go on with an id: "tieline replay", "tieline explain", or "tieline flow" with the id of its flow.'],
  async run(input: CommandInput): Promise<number> {
    const found = await withLog(input, (log) => log.calls(limitOf(input)))
    if (input.flags['json'] === true) printJson(input.out, found)
    else if (found.length === 0) input.out.write('There are no calls in this log.\n')
    else for (const call of found) {
      const end = call.outcome === null ? 'pending' : call.outcome === 'completed' ? 'OK' : call.outcome.replaceAll('_', ' ')
      input.out.write(`${call.call}  [${oneLine(call.caller)} -> ${oneLine(call.agent)}] ${end} (${call.durationMs === null ? 'running' : timeWords(call.durationMs)}, ${call.tokensUsed} tokens)${call.flow === null ? '' : `  ${call.flow}`}  ${cutWidth(firstLine(call.task), taskWidth)}\n`)
    }
    return 0
  },
}

export function limitOf({ flags }: Pick<CommandInput, 'flags'>): number {
  const given = flagText(flags['limit'])
  if (given === undefined) return shownDefault
  if (!/^[1-9]\d{0,6}$/.test(given)) throw new UsageError(`--limit: "${given}" was given, but a whole number above 0 is needed.`)
  return Number(given)
}
