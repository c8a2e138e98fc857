/** The help, from the table of commands. */
import { globalFlags, type Command, type Flag } from './command.ts'
import { version } from '../version.ts'

const usageOf = (command: Command): string => ['tieline', command.name, ...command.words].join(' ')

export function helpText(commands: readonly Command[], command: Command | null): string {
  return command === null ? wholeHelp(commands) : commandHelp(command)
}

function wholeHelp(commands: readonly Command[]): string {
  const rows = commands.map((command): [string, string] => [
    [command.name, ...command.words].join(' '),
    command.help,
  ])
  return [
    `Tieline ${version}: the line between LLM agents.`,
    '',
    'Usage: tieline <command> [flags]',
    '',
    ...table(rows),
    '',
    'Flags of every command:',
    '',
    ...table([
      ...flagRows(globalFlags),
      ['--help', 'print this, or the help of a command'],
      ['--version', 'print the version'],
    ]),
    '',
    'A command that needs a server finds the one of its data directory, or starts one and ends it again. The exit code is 0 only on success.',
    '',
    'Start with "tieline demo", or with "tieline init" in your project.',
  ].join('\n')
}

function commandHelp(command: Command): string {
  const own = flagRows(command.flags)
  const everywhere = Object.keys(globalFlags).filter(
    (name) =>
      command.without?.[name as keyof typeof globalFlags] === undefined && command.flags[name] === undefined,
  )
  return [
    `Usage: ${usageOf(command)} [flags]`,
    '',
    `${command.help}.`,
    ...(own.length > 0 ? ['', ...table(own)] : []),
    '',
    `Flags of every command: ${everywhere.map((name) => `--${name}`).join(', ')} (see "tieline --help").`,
    ...(command.more === undefined ? [] : ['', ...command.more]),
  ].join('\n')
}

const flagRows = (flags: Readonly<Record<string, Flag>>): [string, string][] =>
  Object.entries(flags).map(([name, flag]) => [
    `--${name}${flag.value === undefined ? '' : ` ${flag.value}`}`,
    flag.help,
  ])

function table(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
