/** `tieline replay <id>`: runs recorded turns again from their record, and shows the first difference. */
import { printResult, type Command, type CommandInput } from '../command.ts'
import { readRecorded, replayExport, type OpenedLog } from '../reach/recorded-log.ts'
import { cutWidth, oneLine } from '../show/width.ts'

type Replay = Awaited<ReturnType<OpenedLog['replay']>>
type Difference = NonNullable<Replay['difference']>

export const replay: Command = {
  name: 'replay',
  words: ['<id>'],
  help: 'Runs a recorded call, session or flow again without model, tools or network, and compares it',
  flags: {},
  more: `
The exit code is 0 if every event is as it was recorded, and 1 at a difference, which is shown with both sides.
The hash is the same for the same log on every machine. A log that was imported has the configuration of its
agents; a file named with --config counts instead. Replay agents that are defined in code from code, with
openLog().`,
  examples: [
    'tieline calls                      which calls there are',
    'tieline replay flow_01abc          one request and everything that it caused',
    'tieline replay call_01abc --json   one call and what is below it, as JSON',
  ],
  async run(input: CommandInput): Promise<number> {
    const id = input.words[0] ?? ''
    const result = await readRecorded(input, {
      // What the server has is replayed here, from an export: it costs the server no more than that.
      server: async (client) => replayExport(input, await client.export({ id }, input)),
      log: (log) => log.replay(id),
    })
    printResult(input, result, renderReplay(result).join('\n'))
    return result.equal ? 0 : 1
  },
}

function renderReplay({ turns, events, hash, difference }: Replay): string[] {
  const lines = turns.map(({ equal, agent, turn, events: count, stop, notes }) => {
    const stopped = stop === null ? '' : `, compared up to its stop: ${oneLine(stop)}`
    const noted = notes.map((note) => `; ${oneLine(note)}`).join('')
    return `${equal ? '✓' : '✗'} ${agent}  ${turn}  ${count} events${stopped}${noted}`
  })
  if (turns.length === 0) return ['Nothing to compare: no agent ran a turn in it.']
  if (difference === null) return [...lines, `Equal: ${events} events of ${turns.length} turns. Hash ${hash}`]
  return [...lines, ...renderDifference(difference)]
}

const sideWidth = 200

/** At the field where there is one; both sides whole are in the JSON. */
export function renderDifference({ turn, agent, why, fields, recorded, replayed }: Difference): string[] {
  const shorten = (side: string | null): string =>
    side === null ? 'nothing' : cutWidth(oneLine(side), sideWidth)
  const sides =
    fields.length > 0
      ? fields.flatMap(({ field, recorded: ours, replayed: theirs }) => [
          `  ${oneLine(field)}`,
          `    recorded: ${shorten(ours)}`,
          `    replayed: ${shorten(theirs)}`,
        ])
      : [`  recorded: ${shorten(recorded)}`, `  replayed: ${shorten(replayed)}`]
  const more = recorded === null && replayed === null ? [] : ['  --json shows both sides whole.']
  return [`Different, in ${turn} of ${agent}: ${why}`, ...sides, ...more]
}
