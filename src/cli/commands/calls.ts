import { describeCost } from '../show/cost.ts'
import type { ListedCall } from '../../wire/calls.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { formatAgo, formatDuration } from '../show/amounts.ts'
import { printResult, type Command, type CommandInput } from '../command.ts'
import { limitFlag, readLimit } from '../flags.ts'
import { readRecorded } from '../reach/recorded-log.ts'
import { shortId } from '../show/short-id.ts'
import { alignColumns, cutWidth, firstLine, oneLine } from '../show/width.ts'

const taskWidth = 60

export const calls: Command = {
  name: 'calls',
  words: [],
  help: 'Lists calls, newest first: caller, callee, outcome and cost',
  flags: { limit: limitFlag },
  more: `
Use an id with "tieline explain" or "tieline replay", or the id of its flow with "tieline flow".`,
  examples: [
    'tieline calls --limit 5',
    'tieline calls --json | jq \'.[] | select(.outcome != "completed")\'',
  ],
  async run(input: CommandInput): Promise<number> {
    const limit = readLimit(input)
    const found = await readRecorded(input, {
      server: (client) => client.calls.list({ limit }, input),
      log: (log) => log.calls(limit),
    })
    const title = 'CALL  [CALLER -> CALLED] END (TIME, TOKENS)  BEGUN  FLOW  TASK'
    printResult(
      input,
      found,
      renderList(
        input,
        title,
        found.map((one) => renderCall(one, chooseIds(input))),
        'There are no calls in this log.',
      ),
    )
    return 0
  },
}

/** A list with its title on a terminal, and without it for programs. */
export const renderList = (
  { out }: Pick<CommandInput, 'out'>,
  title: string,
  lines: readonly string[],
  none: string,
): string =>
  lines.length === 0 ? none : (out.isTTY === true ? alignColumns(title, lines) : lines).join('\n')

/** A person types the end of an id; a program keeps the whole. */
export const chooseIds = ({ out }: Pick<CommandInput, 'out'>): ((id: string) => string) =>
  out.isTTY === true ? shortId : (id) => id

export function renderCall(call: ListedCall, showId: (id: string) => string = (id) => id): string {
  const { outcome, durationMs } = call
  const end = outcome === 'completed' ? 'OK' : (outcome ?? 'pending').replaceAll('_', ' ')
  const time = durationMs === null ? 'running' : formatDuration(durationMs)
  const cost = `${call.tokensUsed} tokens${describeCost(call.cost)}`
  return [
    showId(call.call),
    `[${oneLine(call.callerName)} -> ${oneLine(call.agentName)}] ${end} (${time}, ${cost})`,
    formatAgo(systemClock.now() - call.createdAt),
    ...(call.flow === null ? [] : [showId(call.flow)]),
    cutWidth(firstLine(call.task), taskWidth),
  ].join('  ')
}
