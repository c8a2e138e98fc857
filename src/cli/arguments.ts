/** Reads the words of a command line. Pure: a mistake is a value that says what would be right. */
import { parseArgs } from 'node:util'
import { findNearest } from '../model/nearest.ts'
import { globalFlags, type Command, type CommandInput, type Flag, type GlobalFlag } from './command.ts'
import { table } from '../model/table.ts'

export type Asked =
  | { kind: 'run'; command: Command; words: string[]; flags: CommandInput['flags'] }
  | { kind: 'help'; command: Command | null }
  | { kind: 'version' }
  | { kind: 'mistake'; text: string; command: Command | null }

const ownFlags: Readonly<Record<string, Flag>> = {
  help: { help: 'print this' },
  version: { help: 'print the version' },
}
const shortFlags = table({ h: 'help', v: 'version' })

type Token = Extract<ReturnType<typeof tokenize>[number], { kind: 'option' }>

export function readArguments(args: readonly string[], commands: readonly Command[]): Asked {
  const tokens = tokenize(args, commands)
  const [name, ...words] = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []))
  const options = tokens.filter((token) => token.kind === 'option')
  const find = (named: string | undefined): Command | null =>
    commands.find((candidate) => candidate.name === named) ?? null
  const command = find(name)
  if (name === 'version') return { kind: 'version' }
  if (name === 'help') return { kind: 'help', command: find(words[0]) }
  if (command === null && name !== undefined) {
    const names = commands.map((known) => known.name)
    return { kind: 'mistake', text: `unknown command "${name}"; ${findNearest(name, names)}.`, command }
  }
  if (options.some((token) => readName(token) === 'version')) return { kind: 'version' }
  if (options.some((token) => readName(token) === 'help')) return { kind: 'help', command }
  const problem = checkFlags(options, command) ?? (command === null ? null : checkWords(words, command))
  if (problem !== null) return { kind: 'mistake', text: problem, command }
  if (command === null) return { kind: 'help', command }
  const flags = Object.fromEntries(options.map((token) => [readName(token), token.value ?? (true as const)]))
  return { kind: 'run', command, words, flags }
}

/** Flags are read before the command is known, so a flag takes a value in all commands or in none. */
function tokenize(args: readonly string[], commands: readonly Command[]) {
  const known: Record<string, Flag> = Object.assign(
    {},
    globalFlags,
    ...commands.map((command) => command.flags),
  )
  const options = Object.fromEntries(
    Object.entries(known).map(([name, flag]) => {
      const type = flag.value === undefined ? ('boolean' as const) : ('string' as const)
      return [name, { type }]
    }),
  )
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens
}

const readName = (token: Token): string =>
  token.rawName.startsWith('--') ? token.name : (shortFlags[token.name] ?? token.name)

function checkFlags(options: readonly Token[], command: Command | null): string | null {
  const known = table<Flag>({ ...command?.flags, ...globalFlags, ...ownFlags })
  const whyNot = (name: string): string | undefined => command?.without?.[name as GlobalFlag]
  for (const token of options) {
    const { rawName, value, inlineValue } = token
    const name = readName(token)
    const flag = known[name]
    if (flag === undefined) {
      const names = Object.keys(known).filter((other) => whyNot(other) === undefined)
      const nearest = findNearest(
        `--${token.name}`,
        names.map((other) => `--${other}`),
      )
      return `unknown flag ${rawName}${command === null ? '' : ` of ${command.name}`}; ${nearest}.`
    }
    if (whyNot(name) !== undefined) return `${rawName} means nothing to ${command?.name}: ${whyNot(name)}.`
    if (flag.value === undefined && value !== undefined) return `${rawName} takes no value.`
    const isMissing = value === undefined || (inlineValue === false && /^-(?![\d.])/.test(value))
    if (flag.value !== undefined && isMissing) return `${rawName} needs a value: ${rawName} ${flag.value}.`
  }
  return null
}

function checkWords(words: readonly string[], command: Command): string | null {
  const missing = command.words[words.length]
  if (missing !== undefined && !missing.startsWith('[')) return `${command.name} needs ${missing}.`
  const extra = words[command.words.length]
  if (extra === undefined) return null
  const advice =
    command.words.length > 0
      ? '; put quotes around a text of several words'
      : command.flags['agent'] === undefined
        ? ''
        : `; an agent is named with --agent ${extra}`
  return `"${extra}" is one word too many for ${command.name}${advice}.`
}
