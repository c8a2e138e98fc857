/** `tieline export [id]`: a recorded run as a file that somebody else can import and replay. */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command, CommandInput } from './command.ts'
import { flagText, logFlags, printJson, withLog } from './recorded-log.ts'

export const exportCommand: Command = {
  name: 'export',
  words: ['[id]'],
  help: 'Writes a call, session or flow, or the whole log, to a file, with secrets taken out',
  flags: { out: { value: 'FILE', help: 'where to write it; otherwise to stdout' }, ...logFlags },
  more: [
    'The file has a header and one line of JSON for each event, and is complete: earlier turns of conversations that were passed on are in it.',
    'Secrets are taken out by the names of fields, by the values of environment variables that are named like keys, and by the shapes of keys. Look through the file before you publish it.',
    '', 'Example, for a test on another machine:', '  tieline export flow_01abc --out night.jsonl', '  tieline import night.jsonl --data-dir replayed', '  tieline replay flow_01abc --data-dir replayed',
  ],
  run: runExport,
}

async function runExport(input: CommandInput): Promise<number> {
  const { header, text } = await withLog(input, (log) => log.export(input.words[0] ?? null))
  const file = flagText(input.flags['out'])
  if (file === undefined) {
    input.out.write(text)
    return 0
  }
  await writeFile(resolve(file), text)
  if (input.flags['json'] === true) printJson(input.out, { file: resolve(file), ...header })
  else input.out.write(`${file}: ${header.events} events of ${header.turns} turns${header.contextTurns === 0 ? '' : ` and ${header.contextTurns} earlier ones that they were shown`}, ${header.redacted} secrets taken out\n`)
  return 0
}
