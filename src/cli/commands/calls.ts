import type { ListedCall } from '../../wire/calls.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { agoWords, timeWords } from '../show/amounts.ts'
import { printJson, type Command, type CommandInput } from '../command.ts'
import { limitFlag, readLimit } from '../flags.ts'
import { cutWidth, firstLine, oneLine } from '../show/width.ts'

const taskWidth = 60

export const calls: Command = {
  name: 'calls',
  words: [],
  help: 'Lists calls, newest first: who called whom, how it ended, what it cost',
  flags: { limit: limitFlag },
  more: [
    'Go on with an id: "tieline explain", "tieline replay", or "tieline flow" with the id of its flow.',
    '',
    'Examples:',
    '  tieline calls --limit 5',
    '  tieline calls --json | jq \'.[] | select(.outcome != "completed")\'',
  ],
  async run(input: CommandInput): Promise<number> {
    const limit = readLimit(input)
    const { look } = await import('../reach/recorded-log.ts')
    const found = await look(input, {
      server: (client) => client.calls.list({ limit }, input),
      log: (log) => log.calls(limit),
    })
    if (input.flags['json'] === true) printJson(input.out, found)
    else
      input.out.write(
        found.length === 0
          ? 'There are no calls in this log.\n'
          : `${[...(input.out.isTTY === true ? ['CALL  [CALLER -> CALLED] END (TIME, TOKENS)  BEGUN  FLOW  TASK'] : []), ...found.map(callLine)].join('\n')}\n`,
      )
    return 0
  },
}

export function callLine(call: ListedCall): string {
  const end =
    call.outcome === null
      ? 'pending'
      : call.outcome === 'completed'
        ? 'OK'
        : call.outcome.replaceAll('_', ' ')
  return `${call.call}  [${oneLine(call.callerName)} -> ${oneLine(call.agentName)}] ${end} (${call.durationMs === null ? 'running' : timeWords(call.durationMs)}, ${call.tokensUsed} tokens)  ${agoWords(systemClock.now() - call.createdAt)}${call.flow === null ? '' : `  ${call.flow}`}  ${cutWidth(firstLine(call.task), taskWidth)}`
}
