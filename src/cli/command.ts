/** What a command is. To add one, write a file with its definition, and add a line to `commands.ts`. */
import type { Readable } from 'node:stream'
import { visibleJson } from '../model/visible.ts'
import type { Output } from './show/terminal.ts'

/** `value` names what the flag takes; without it the flag is a switch. */
export type Flag = { value?: string; help: string }

export type Input = Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown }

/** The flags were checked against the definition of the command. */
export type CommandInput = {
  words: readonly string[]
  flags: Readonly<Record<string, string | true>>
  env: Readonly<Record<string, string | undefined>>
  in?: Input
  out: Output
  err: Output
  /** Aborts at Ctrl-C: the command cancels its work and returns. */
  signal: AbortSignal
  /** Handles Ctrl-C until the returned function is called; meanwhile `signal` does not abort. */
  onInterrupt?: (handler: () => void) => () => void
}

export type Command = {
  name: string
  /** What follows the name, such as `"<task>"`. Words in brackets are optional. */
  words: readonly string[]
  help: string
  /** Printed below the flags. */
  more?: string
  examples: readonly string[]
  /** In addition to the global flags. */
  flags: Readonly<Record<string, Flag>>
  /** Global flags that mean nothing here, and why. */
  without?: Readonly<Partial<Record<GlobalFlag, string>>>
  /** Returns the exit code: 0 only on success. Loads heavy modules itself, so that `--help` stays fast. */
  run(input: CommandInput): Promise<number>
}

/** A mistake in the command line, reported in one line with exit code 2. */
export class UsageError extends Error {}

export const globalFlags = {
  config: {
    value: 'FILE',
    help: "tieline.toml or tieline.json; by default the one in this directory, then the user's own",
  },
  'data-dir': { value: 'DIR', help: 'where the log is kept; by default as configured' },
  server: { value: 'URL', help: 'a running server; by default the one of the data directory, or a new one' },
  json: { help: 'print JSON and nothing else' },
  quiet: { help: 'print only the result' },
} as const satisfies Record<string, Flag>
export type GlobalFlag = keyof typeof globalFlags

export const flagText = (flag: string | true | undefined): string | undefined =>
  typeof flag === 'string' ? flag : undefined

export const printJson = (out: Output, value: unknown): void => void out.write(`${visibleJson(value)}\n`)

/** Prints a text with one line break at its end, and nothing for an empty text. */
export function printText(out: Output, text: string): void {
  if (text !== '') out.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** Prints `value` with --json, `quiet` with --quiet, and `text` otherwise. */
export function printResult(
  { flags, out }: Pick<CommandInput, 'flags' | 'out'>,
  value: unknown,
  text: string,
  quiet = text,
): void {
  if (flags['json'] === true) printJson(out, value)
  else printText(out, flags['quiet'] === true ? quiet : text)
}

export const printError = (err: Output, text: string): void => void err.write(`tieline: ${text}\n`)

/** Colours only on a terminal whose user has not turned them off. */
export const wantsColour = (out: Output, env: CommandInput['env']): boolean =>
  wantsLive(out, env) && (env['NO_COLOR'] ?? '') === ''
/** Redraws in place only where the cursor can be moved. */
export const wantsLive = (out: Output, env: CommandInput['env']): boolean =>
  out.isTTY === true && env['TERM'] !== 'dumb'
/** A program reads the output, so that it gets neither progress nor colours. */
export const isSilent = ({ flags }: Pick<CommandInput, 'flags'>): boolean =>
  flags['quiet'] === true || flags['json'] === true
