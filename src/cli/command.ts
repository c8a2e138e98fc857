/** What a command of the command line is. Adding one: a file with its definition, and a line in `commands.ts`. */
import type { Terminal } from './screen.ts'

/** `value` names what the flag takes; without it the flag is a switch. */
export type Flag = { value?: string; help: string }

export type Output = Terminal & { isTTY?: boolean }

/** What a command was given. Its flags were checked against its definition. */
export type CommandInput = {
  words: readonly string[]
  flags: Readonly<Record<string, string | true>>
  env: Readonly<Record<string, string | undefined>>
  out: Output
  err: Output
  /** Aborts at Ctrl-C: the command cancels what it does, and comes back. */
  signal: AbortSignal
}

export type Command = {
  name: string
  /** What comes after the name: `"<task>"`. One in brackets may be left out. */
  words: readonly string[]
  help: string
  /** Lines under the flags: what to know, and examples. */
  more?: readonly string[]
  flags: Readonly<Record<string, Flag>>
  /** The exit code: 0 only on success. Loads what it needs itself, so that `--help` is fast. */
  run(input: CommandInput): Promise<number>
}

/** A mistake of whoever typed the command: told in one line, exit code 2. */
export class UsageError extends Error {}

export const sharedFlags = {
  json: { help: 'print one JSON object at the end, and nothing else' },
  quiet: { help: 'print the result only' },
} as const satisfies Record<string, Flag>

/** Colours where somebody sees them and has not asked for none. */
export const wantsColour = (out: Output, env: CommandInput['env']): boolean => out.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
/** In place only where the cursor can be moved. */
export const wantsLive = (out: Output, env: CommandInput['env']): boolean => out.isTTY === true && env['TERM'] !== 'dumb'
