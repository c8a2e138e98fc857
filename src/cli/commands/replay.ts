/**
 * `tieline replay <id>`: runs recorded turns again with nothing but their record, and shows the first
 * difference.
 */
import { printJson, type Command, type CommandInput } from '../command.ts'
import type { OpenedLog } from '../reach/recorded-log.ts'
import { oneLine } from '../show/width.ts'

type Replay = Awaited<ReturnType<OpenedLog['replay']>>

export const replay: Command = {
  name: 'replay',
  words: ['<id>'],
  help: 'Runs a recorded call, session or flow again without model, tools or network, and compares every event',
  flags: {},
  more: [
    'The exit code is 0 if every event is as it was recorded, and 1 at a difference, which is shown with both sides.',
    'The hash is the same for the same log on every machine. The agents must be in the configuration; those that are defined in code are replayed from code, with openLog().',
    '',
    'Examples:',
    '  tieline calls                      which calls there are',
    '  tieline replay flow_01abc          one request and everything that it caused',
    '  tieline replay call_01abc --json   one call and what is below it, as JSON',
  ],
  run: runReplay,
}

async function runReplay(input: CommandInput): Promise<number> {
  const { withLog } = await import('../reach/recorded-log.ts')
  const result = await withLog(input, 'a replay', (log) => log.replay(input.words[0] ?? ''))
  if (input.flags['json'] === true) printJson(input.out, result)
  else input.out.write(`${replayLines(result).join('\n')}\n`)
  return result.equal ? 0 : 1
}

export function replayLines(result: Replay): string[] {
  const turns = result.turns.map(
    (turn) =>
      `${turn.equal ? '✓' : '✗'} ${turn.agent}  ${turn.turn}  ${turn.events} events${turn.stop === null ? '' : `, compared up to its stop: ${oneLine(turn.stop)}`}${turn.notes.map((note) => `; ${oneLine(note)}`).join('')}`,
  )
  const { difference } = result
  if (difference === null)
    return [...turns, `Equal: ${result.events} events of ${result.turns.length} turns. Hash ${result.hash}`]
  return [
    ...turns,
    `Different, in ${difference.turn} of ${difference.agent}: ${difference.why}`,
    `  recorded: ${difference.recorded ?? 'nothing'}`,
    `  replayed: ${difference.replayed ?? 'nothing'}`,
  ]
}
