/** `tieline import <file>`: reads an exported run into a log of its own. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { describeError } from '../../client/tieline-error.ts'
import { printResult, UsageError, type Command, type CommandInput } from '../command.ts'
import { findPlace } from '../reach/place.ts'
import { findRunningServer } from '../reach/reach.ts'
import { countNoun } from '../show/amounts.ts'

export const importCommand: Command = {
  name: 'import',
  words: ['<file>'],
  help: 'Reads an exported file into a data directory that is new or empty',
  flags: {},
  more: `
The whole file is checked before anything is written. A damaged file, one of a newer version, and a directory
that already has a log are refused.
A turn that had not ended when it was exported would continue if a server ran on that directory, so use it
only for replay and explain.`,
  examples: ['tieline import night.jsonl --data-dir replayed'],
  run: runImport,
}

async function runImport(input: CommandInput): Promise<number> {
  const file = resolve(input.words[0] ?? '')
  const place = await findPlace(input)
  const { dataDir } = place
  const running = await findRunningServer(place)
  if (running !== null)
    throw new UsageError(
      `a server runs on ${dataDir} (${running.client.url}): an import needs a directory of its own. ` +
        'Name a new one with --data-dir DIR.',
    )
  const from = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`${file} cannot be read: ${describeError(cause)}`, { cause })
  })
  const { openLog } = await import('../../recorded-log.ts')
  const log = await openLog({ dataDir, from }).catch((cause: unknown) => {
    throw new Error(`${file}: ${describeError(cause)}`, { cause })
  })
  await log.close()
  const { events = 0, turns = 0, of = null } = log.imported ?? {}
  const next = of === null ? '' : `. Next: tieline replay ${of} --data-dir ${dataDir}`
  const text = `${dataDir}: ${events} events of ${countNoun(turns, 'turn')}${next}`
  printResult(input, { dataDir, ...log.imported }, text)
  return 0
}
