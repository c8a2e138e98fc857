/** `tieline import FILE`: an exported run into a log of its own. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { printJson, UsageError, type Command, type CommandInput } from '../command.ts'
import { findPlace } from '../reach/place.ts'

export const importCommand: Command = {
  name: 'import',
  words: ['<file>'],
  help: 'Reads an exported file into a data directory that is new or empty',
  flags: {},
  more: [
    'The file is checked as a whole before anything is written. A damaged one, one of a newer version, and a directory that has a log already are refused.',
    'A turn that had not ended when it was exported would go on if agents were run on that directory: keep it for replay and explain.',
    '',
    'Example:',
    '  tieline import night.jsonl --data-dir replayed',
  ],
  run: runImport,
}

async function runImport(input: CommandInput): Promise<number> {
  const file = resolve(input.words[0] ?? '')
  const place = await findPlace(input)
  const { dataDir } = place
  const { runningServer } = await import('../reach/reach.ts')
  const running = await runningServer(place)
  if (running !== null)
    throw new UsageError(
      `a server runs on ${dataDir} (${running.client.url}): an import needs a directory of its own. Name a new one with --data-dir DIR.`,
    )
  const from = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new UsageError(
      `${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    )
  })
  const { openLog } = await import('../../recorded-log.ts')
  const log = await openLog({ dataDir, from }).catch((cause: unknown) => {
    throw new Error(`${file}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  })
  await log.close()
  const { imported } = log
  if (input.flags['json'] === true) printJson(input.out, { dataDir, ...imported })
  else
    input.out.write(
      `${dataDir}: ${imported?.events ?? 0} events of ${imported?.turns === 1 ? 'one turn' : `${imported?.turns ?? 0} turns`}${imported?.of == null ? '' : `. Next: tieline replay ${imported.of} --data-dir ${dataDir}`}\n`,
    )
  return 0
}
