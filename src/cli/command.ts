/**
 * What a command of the command line is. Adding one: a file with its definition, and a line in `commands.ts`.
 */
import type { Readable } from 'node:stream'
import { visibleJson } from '../model/visible.ts'
import type { Output } from './show/terminal.ts'

/** `value` names what the flag takes; without it the flag is a switch. */
export type Flag = { value?: string; help: string }

export type Input = Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown }

/** What a command was given. Its flags were checked against its definition. */
export type CommandInput = {
  words: readonly string[]
  flags: Readonly<Record<string, string | true>>
  env: Readonly<Record<string, string | undefined>>
  in?: Input
  out: Output
  err: Output
  /** Aborts at Ctrl-C: the command cancels what it does, and comes back. */
  signal: AbortSignal
  /** Takes Ctrl-C over, until the returned function is called: then `signal` does not abort. */
  onInterrupt?: (handler: () => void) => () => void
}

export type Command = {
  name: string
  /** What comes after the name: `"<task>"`. One in brackets may be left out. */
  words: readonly string[]
  help: string
  /** Lines under the flags: what to know, and examples. */
  more?: readonly string[]
  /** Besides the global ones. */
  flags: Readonly<Record<string, Flag>>
  /** Global flags that mean nothing here, and why. */
  without?: Readonly<Partial<Record<keyof typeof globalFlags, string>>>
  /** The exit code: 0 only on success. Loads what it needs itself, so that `--help` is fast. */
  run(input: CommandInput): Promise<number>
}

/** A mistake of whoever typed the command: told in one line, exit code 2. */
export class UsageError extends Error {}

/** Flags that every command takes. */
export const globalFlags = {
  config: {
    value: 'FILE',
    help: "tieline.toml or tieline.json; otherwise the one in this directory, then the user's own",
  },
  'data-dir': { value: 'DIR', help: 'where the log is kept; otherwise as the configuration says' },
  server: {
    value: 'URL',
    help: 'a server that runs already; otherwise the one of the data directory, or one is started',
  },
  json: { help: 'print JSON, and nothing else' },
  quiet: { help: 'print the result only' },
} as const satisfies Record<string, Flag>

export const sharedFlags = { json: globalFlags.json, quiet: globalFlags.quiet } as const satisfies Record<
  string,
  Flag
>

export const flagText = (flag: string | true | undefined): string | undefined =>
  typeof flag === 'string' ? flag : undefined

export const printJson = (out: CommandInput['out'], value: unknown): void =>
  void out.write(`${visibleJson(value)}\n`)

/** A text with one line break at its end. */
export const renderCommand = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`)

/** Colours where somebody sees them and has not asked for none. */
export const wantsColour = (out: Output, env: CommandInput['env']): boolean =>
  out.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
/** In place only where the cursor can be moved. */
export const wantsLive = (out: Output, env: CommandInput['env']): boolean =>
  out.isTTY === true && env['TERM'] !== 'dumb'
/** Neither lines about the work nor colours: what is printed is for a program. */
export const isSilent = ({ flags }: Pick<CommandInput, 'flags'>): boolean =>
  flags['quiet'] === true || flags['json'] === true
