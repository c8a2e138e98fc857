/** `tieline export [id]`: a recorded run as a file that can be imported and replayed elsewhere. */
import { writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { flagText, printResult, UsageError, type Command, type CommandInput } from '../command.ts'
import { privateMode } from '../../trust/private-files.ts'
import type { ExportedLog } from '../../wire/log.ts'
import { countNoun } from '../show/amounts.ts'
import { readRecorded } from '../reach/recorded-log.ts'

export const exportCommand: Command = {
  name: 'export',
  words: ['[id]'],
  help: 'Writes a call, session or flow, or the whole log, to a file, without secrets',
  flags: {
    out: { value: 'FILE', help: 'where to write it; by default to stdout' },
    force: { help: 'overwrite the file if it exists' },
  },
  more: `
The file has a header and one line of JSON for each event. It is complete: it includes earlier turns of
conversations that were passed on, and how the agents were configured, so that it replays elsewhere. What
is missing for that, such as agents that are defined in code, is said.
Secrets are found by the names of fields, by the values of environment variables that are named like keys,
and by the shapes of keys. Look through the file before you publish it.`,
  examples: [
    'tieline export flow_01abc --out night.jsonl',
    'tieline import night.jsonl --data-dir replayed     on another machine',
    'tieline replay flow_01abc --data-dir replayed',
  ],
  run: runExport,
}

async function runExport(input: CommandInput): Promise<number> {
  const id = input.words[0]
  const { header, text } = await readRecorded(input, {
    server: (client): Promise<ExportedLog> => client.export(id === undefined ? {} : { id }, input),
    log: (log): Promise<ExportedLog> => log.export(id ?? null),
  })
  const named = flagText(input.flags['out'])
  if (named === undefined) {
    // A program gets the exact bytes; on a terminal, control characters are shown and do not act.
    const out = input.out.isTTY === true ? input.out : (input.out.raw ?? input.out)
    out.write(text)
    return 0
  }
  const file = resolve(named)
  // Whoever should read it gets it from its owner.
  const flag = input.flags['force'] === true ? 'w' : 'wx'
  await writeFile(file, text, { mode: privateMode, flag }).catch((cause: NodeJS.ErrnoException) => {
    const missing = cause.code === 'ENOENT' || cause.code === 'ENOTDIR'
    const why = missing
      ? `there is no folder ${dirname(file)}; make it first`
      : cause.code === 'EEXIST'
        ? 'it exists; choose another name, or say --force to overwrite it'
        : cause.message
    throw new UsageError(`--out: ${file} cannot be written: ${why}.`, { cause })
  })
  const { events, turns, contextTurns, redacted } = header
  const earlier = contextTurns === 0 ? '' : ` and ${contextTurns} earlier ones that they were shown`
  const summary = `${events} events of ${countNoun(turns, 'turn')}${earlier}, ${redacted} secrets taken out`
  const missing = listMissing(header).map((text) => `\nNot in it: ${text}`)
  printResult(input, { file, ...header }, `${named}: ${summary}${missing.join('')}`)
  return 0
}

/** What a replay elsewhere will miss. */
function listMissing({ setup }: ExportedLog['header']): string[] {
  const missing = (setup as { missing?: unknown } | undefined)?.missing
  return Array.isArray(missing) ? missing.map(String) : []
}
