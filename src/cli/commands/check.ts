/** `tieline check`: whether the log is whole, and what is derived from it. It changes nothing. */
import type { LogCare } from '../../log-care.ts'
import { printJson, type Command, type CommandInput } from '../command.ts'
import { existingLog } from '../reach/existing-log.ts'
import { progressTo } from '../show/log-progress.ts'
import { oneLine } from '../show/width.ts'

type LogCheck = Awaited<ReturnType<LogCare['check']>>

export const check: Command = {
  name: 'check',
  words: [],
  help: 'Checks the whole log: the file, every row, the numbering, and what is derived from it',
  flags: {},
  without: { server: 'it looks at the file itself, also while a server works on it' },
  more: [
    'It changes nothing, and a server may run meanwhile. The exit code is 0 if everything is right, ' +
      'and 1 if anything is wrong; then it says what to do.',
    '',
    'Examples:',
    '  tieline check',
    '  tieline check --data-dir ./copy --json',
  ],
  run: runCheck,
}

async function runCheck(input: CommandInput): Promise<number> {
  const { file, dataDir } = await existingLog(input)
  const { logCare } = await import('../../log-care.ts')
  const result = await logCare.check(file, {
    onProgress: progressTo(input, 'rows checked'),
    signal: input.signal,
  })
  const todo = nextSteps(result)
  if (input.flags['json'] === true) printJson(input.out, { dataDir, ...result, todo })
  else input.out.write(`${checkLines(file, result).join('\n')}\n`)
  return result.ok ? 0 : 1
}

/** The most serious first: views of a log that is damaged itself are not the problem. */
export function nextSteps({ ok, problems }: LogCheck): string | null {
  if (ok) return null
  const has = (what: LogCheck['problems'][number]['what']): boolean =>
    problems.some((problem) => problem.what === what)
  if (has('file'))
    return 'The file itself is damaged. Stop the server, keep the file, and restore the log from a copy.'
  if (has('row') || has('numbering'))
    return (
      'Stop the server and restore the log from a copy. Without one, ' +
      '"tieline rebuild --leave-out" goes on without these rows and what depends on them.'
    )
  return 'The log itself is whole. Stop the server and run "tieline rebuild".'
}

export function checkLines(file: string, result: LogCheck): string[] {
  const { rows, events, problems, problemsTotal, viewsCompared } = result
  if (result.ok)
    return [
      `${file} is whole: ${rows} rows with ${events} events, ` +
        `and what is derived from them is as it should be.`,
    ]
  const lines = problems.map(
    ({ what, row, flow, says }) =>
      `✗ ${what}${row === null ? '' : ` ${row}`}${flow === null ? '' : ` (${flow})`}: ${oneLine(says)}`,
  )
  return [
    `${file}: ${problemsTotal === 1 ? 'one problem' : `${problemsTotal} problems`} in ${rows} rows with ${events} events.`,
    ...lines,
    ...(problemsTotal > problems.length ? [`… and ${problemsTotal - problems.length} more`] : []),
    ...(viewsCompared
      ? []
      : ['What is derived from the log was not compared with it, because not all of it can be read.']),
    nextSteps(result) ?? '',
  ]
}
