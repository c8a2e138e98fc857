/** `tieline export [id]`: a recorded run as a file that somebody else can import and replay. */
import { writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { flagText, printJson, UsageError, type Command, type CommandInput } from '../command.ts'

export const exportCommand: Command = {
  name: 'export',
  words: ['[id]'],
  help: 'Writes a call, session or flow, or the whole log, to a file, with secrets taken out',
  flags: { out: { value: 'FILE', help: 'where to write it; otherwise to stdout' } },
  more: [
    'The file has a header and one line of JSON for each event, and is complete: earlier turns of conversations that were passed on are in it.',
    'Secrets are taken out by the names of fields, by the values of environment variables that are named like keys, and by the shapes of keys. Look through the file before you publish it.',
    '',
    'Example, for a test on another machine:',
    '  tieline export flow_01abc --out night.jsonl',
    '  tieline import night.jsonl --data-dir replayed',
    '  tieline replay flow_01abc --data-dir replayed',
  ],
  run: runExport,
}

async function runExport(input: CommandInput): Promise<number> {
  const { withLog } = await import('../reach/recorded-log.ts')
  const { header, text } = await withLog(input, 'an export', (log) => log.export(input.words[0] ?? null))
  const file = flagText(input.flags['out'])
  if (file === undefined) {
    // A program reads it exactly as it is; on a terminal nothing in it may act.
    if (input.out.isTTY === true) input.out.write(text)
    else (input.out.raw ?? input.out).write(text)
    return 0
  }
  await writeFile(resolve(file), text).catch((cause: NodeJS.ErrnoException) => {
    const missing = cause.code === 'ENOENT' || cause.code === 'ENOTDIR'
    throw new UsageError(
      `--out: ${resolve(file)} cannot be written: ${missing ? `there is no folder ${dirname(resolve(file))}; make it first` : cause.message}.`,
      { cause },
    )
  })
  if (input.flags['json'] === true) printJson(input.out, { file: resolve(file), ...header })
  else
    input.out.write(
      `${file}: ${header.events} events of ${header.turns} turns${header.contextTurns === 0 ? '' : ` and ${header.contextTurns} earlier ones that they were shown`}, ${header.redacted} secrets taken out\n`,
    )
  return 0
}
