/**
 * The help as the build left it beside the bundle: whoever only asks for it does not wait until all commands are
 * loaded. From the sources there is none, and the help is built from the table of commands.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `commands` has the help of each by its name. All texts end with a line break. */
export type ReadyHelp = { version: string; all: string; commands: Readonly<Record<string, string>> }

export const readyHelpFile = 'help.json'

/** Null where something else is asked for, or where nothing is ready. */
export function findReadyHelp(args: readonly string[], directory: string): string | null {
  const asked = readAsked(args)
  if (asked === null) return null
  try {
    const help = JSON.parse(readFileSync(join(directory, readyHelpFile), 'utf8')) as ReadyHelp
    if (asked === '--version') return help.version
    if (asked === '') return help.all
    return Object.hasOwn(help.commands, asked) ? (help.commands[asked] ?? null) : null
  } catch {
    // Not there, or not whole: then it is built anew, which only takes longer.
    return null
  }
}

/** The name of a command, nothing for all of them, or `--version`. Anything less plain is read with care elsewhere. */
function readAsked(args: readonly string[]): string | null {
  const [first = '', second, ...more] = args
  if (more.length > 0) return null
  if (second === undefined) {
    if (['', '--help', '-h', 'help'].includes(first)) return ''
    return ['--version', '-v', 'version'].includes(first) ? '--version' : null
  }
  if (first.startsWith('-')) return null
  return second === '--help' || second === '-h' ? first : null
}
