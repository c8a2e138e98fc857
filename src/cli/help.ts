/** The help, from the table of commands. */
import type { Command } from './command.ts'
import { version } from '../version.ts'

const usageOf = (command: Command): string => ['tieline', command.name, ...command.words].join(' ')

export function helpText(commands: readonly Command[], command: Command | null): string {
  return command === null ? wholeHelp(commands) : commandHelp(command)
}

function wholeHelp(commands: readonly Command[]): string {
  const rows = commands.map((command): [string, string] => [[command.name, ...command.words].join(' '), command.help])
  return [
    `Tieline ${version}: the line between LLM agents.`, '', 'Usage: tieline <command> [flags]', '', ...table(rows), '',
    ...table([['--help', 'print this, or the help of a command'], ['--version', 'print the version']]), '', 'The exit code is 0 only on success.',
  ].join('\n')
}

function commandHelp(command: Command): string {
  const flags = Object.entries(command.flags).map(([name, flag]): [string, string] => [`--${name}${flag.value === undefined ? '' : ` ${flag.value}`}`, flag.help])
  return [`Usage: ${usageOf(command)}${flags.length > 0 ? ' [flags]' : ''}`, '', `${command.help}.`, ...(flags.length > 0 ? ['', ...table(flags)] : []), ...(command.more === undefined ? [] : ['', ...command.more])].join('\n')
}

function table(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
