/** `tieline quiet 2h`: nobody is told of mail for that long. */
import { parseSpan } from '../../model/presence.ts'
import { quietMsMax } from '../../model/wake.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { Quiet } from '../../wire/hooks.ts'
import { flagText, printResult, UsageError, type Command, type CommandInput } from '../command.ts'
import { withServer } from '../reach/reach.ts'
import { formatDuration } from '../show/amounts.ts'

export const quiet: Command = {
  name: 'quiet',
  words: ['[time]'],
  help: 'Holds back all news of mail for a time; without one, says what is held back',
  flags: { session: { value: 'ID', help: 'this session only' } },
  more: `
Programs that you have open (Claude Code, Codex, OpenCode) are neither told of mail nor started by it. The mail waits,
and is announced when the time is over. Times are like 90s, 30m, 2h or 1d; "off" ends it now.`,
  examples: [
    'tieline quiet 2h',
    'tieline quiet 30m --session claude-code_01',
    'tieline quiet off',
    'tieline quiet',
  ],
  async run(input: CommandInput): Promise<number> {
    const [given] = input.words
    const session = flagText(input.flags['session'])
    if (given === undefined && session !== undefined)
      throw new UsageError('say for how long, such as "tieline quiet 2h --session ID", or "off".')
    const ms = given === undefined ? null : readTime(given)
    return withServer(input, async ({ client }) => {
      const now =
        ms === null
          ? await client.quiet.get(input)
          : await client.quiet.set({ ms, ...(session === undefined ? {} : { session }) }, input)
      printResult(input, now, renderQuiet(now, systemClock.now()), '')
      return 0
    })
  },
}

function readTime(given: string): number {
  if (given === 'off') return 0
  const ms = parseSpan(given)
  if (ms === null || ms === 0)
    throw new UsageError(`"${given}" is no time. Use one like 90s, 30m, 2h or 1d, or "off".`)
  return Math.min(ms, quietMsMax)
}

export function renderQuiet({ all, sessions }: Quiet, now: number): string {
  const lines = [
    ...(all === null ? [] : [`All sessions are quiet for another ${formatDuration(all - now)}.`]),
    ...sessions.map(
      ({ session, until }) => `${session} is quiet for another ${formatDuration(until - now)}.`,
    ),
  ]
  return lines.length === 0 ? 'Nothing is held back.' : lines.join('\n')
}
