/** The help, built from the table of commands. */
import { globalFlags, type Command, type Flag, type GlobalFlag } from './command.ts'
import { version } from '../version.ts'

export function renderHelp(commands: readonly Command[], command: Command | null): string {
  return (command === null ? describeAll(commands) : describeCommand(command)).join('\n')
}

const describeAll = (commands: readonly Command[]): string[] => [
  `Tieline ${version}: the line between LLM agents.`,
  '',
  'Usage: tieline <command> [flags]',
  '',
  ...renderTable(commands.map(({ name, words, help }) => [[name, ...words].join(' '), help])),
  '',
  'Flags of every command:',
  '',
  ...renderTable([
    ...listFlags(globalFlags),
    ['--help', 'print this, or the help of a command'],
    ['--version', 'print the version'],
  ]),
  '',
  'A command that needs a server uses the one of its data directory, or starts one for as long as it runs.',
  'The exit code is 0 only on success.',
  '',
  'Start with "tieline demo", or with "tieline init" in your project.',
]

function describeCommand({ name, words, help, flags, without, more, examples }: Command): string[] {
  const own = listFlags(flags)
  const everywhere = Object.keys(globalFlags).filter(
    (flag) => without?.[flag as GlobalFlag] === undefined && flags[flag] === undefined,
  )
  return [
    `Usage: ${['tieline', name, ...words].join(' ')} [flags]`,
    '',
    `${help}.`,
    ...(own.length > 0 ? ['', ...renderTable(own)] : []),
    '',
    `Flags of every command: ${everywhere.map((flag) => `--${flag}`).join(', ')} (see "tieline --help").`,
    ...(more === undefined ? [] : ['', more.trim()]),
    '',
    examples.length === 1 ? 'Example:' : 'Examples:',
    ...examples.map((example) => `  ${example}`),
  ]
}

const listFlags = (flags: Readonly<Record<string, Flag>>): [string, string][] =>
  Object.entries(flags).map(([name, { value, help }]) => [
    `--${name}${value === undefined ? '' : ` ${value}`}`,
    help,
  ])

function renderTable(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
