/** `tieline check`: checks the log and what is derived from it. It changes nothing. */
import type { LogCare } from '../../log-care.ts'
import { printResult, type Command, type CommandInput } from '../command.ts'
import { findPlace } from '../reach/place.ts'
import { findLog } from '../reach/recorded-log.ts'
import { countNoun } from '../show/amounts.ts'
import { reportProgress } from '../show/log-progress.ts'
import { oneLine } from '../show/width.ts'

type LogCheck = Awaited<ReturnType<LogCare['check']>>

export const check: Command = {
  name: 'check',
  words: [],
  help: 'Checks the whole log: the file, every row, the numbering, and what is derived from it',
  flags: {},
  without: { server: 'it looks at the file itself, also while a server works on it' },
  more: `
It changes nothing, and a server may run meanwhile. The exit code is 1 if anything is wrong; then it says
what to do.`,
  examples: ['tieline check', 'tieline check --data-dir ./copy --json'],
  async run(input: CommandInput): Promise<number> {
    const { dataDir, config } = await findPlace(input)
    const { logCare } = await import('../../log-care.ts')
    const watched = { onProgress: reportProgress(input, 'rows checked'), signal: input.signal }
    const isShared = config.store.engine === 'postgres'
    const file = isShared ? 'The log in PostgreSQL' : (await findLog(input)).file
    const url = isShared ? logCare.findAddress(config.store.urlEnv, input.env) : ''
    const result = isShared
      ? await logCare.checkCluster({ directory: dataDir, url, ...watched })
      : await logCare.check(file, watched)
    const todo = chooseNextStep(result)
    printResult(input, { dataDir, ...result, todo }, renderCheck(file, result, todo).join('\n'))
    return result.ok ? 0 : 1
  },
}

/** The most serious problem first: views of a damaged log are not the problem. */
function chooseNextStep({ ok, problems }: LogCheck): string | null {
  if (ok) return null
  const has = (...kinds: LogCheck['problems'][number]['what'][]): boolean =>
    problems.some(({ what }) => kinds.includes(what))
  if (has('file'))
    return 'The file itself is damaged. Stop the server, keep the file, and restore the log from a copy.'
  if (has('segment'))
    return (
      'Put the segments back from a copy, beside the log. Without one, their requests cannot be opened; ' +
      'everything else can.'
    )
  return has('row', 'numbering')
    ? 'Stop the server and restore the log from a copy. Without one, ' +
        '"tieline rebuild --leave-out" goes on without these rows and what depends on them.'
    : 'The log itself is whole. Stop the server and run "tieline rebuild".'
}

function renderCheck(file: string, result: LogCheck, todo: string | null): string[] {
  const { rows, events, problems, problemsTotal, viewsCompared } = result
  const size = `${rows} rows with ${events} events`
  if (todo === null) return [`${file} is whole: ${size}, and what is derived from them is as it should be.`]
  return [
    `${file}: ${countNoun(problemsTotal, 'problem')} in ${size}.`,
    ...problems.map(
      ({ what, row, flow, says }) =>
        `✗ ${what}${row === null ? '' : ` ${row}`}${flow === null ? '' : ` (${flow})`}: ${oneLine(says)}`,
    ),
    ...(problemsTotal > problems.length ? [`… and ${problemsTotal - problems.length} more`] : []),
    ...(viewsCompared
      ? []
      : ['What is derived from the log was not compared with it, because not all of it can be read.']),
    todo,
  ]
}
