/** The progress of long work on the log: in one place of a terminal, and a line for every tenth elsewhere. */
import { isSilent, wantsLive, type CommandInput } from '../command.ts'

/** Shorter work is over before the user can read it. */
const shownFrom = 2000

export function reportProgress(
  input: Pick<CommandInput, 'flags' | 'env' | 'err'>,
  what: string,
): (done: number, total: number) => void {
  const { err, env } = input
  const live = wantsLive(err, env)
  let tenth = 0
  return (done, total) => {
    if (isSilent(input) || total < shownFrom) return
    const tenths = Math.floor((10 * done) / total)
    if (!live && tenths === tenth) return
    tenth = tenths
    const text = `${done} of ${total} ${what}`
    err.write(live ? `\r${text}${done >= total ? '\n' : ''}` : `${text}\n`)
  }
}
