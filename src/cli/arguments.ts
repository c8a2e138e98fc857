/** Reads the words of a command line. Pure: a mistake is a value that says what would have been right. */
import { parseArgs } from 'node:util'
import { findNearest } from '../model/nearest.ts'
import { globalFlags, type Command, type CommandInput, type Flag } from './command.ts'

export type Asked =
  | { kind: 'run'; command: Command; words: string[]; flags: CommandInput['flags'] }
  | { kind: 'help'; command: Command | null }
  | { kind: 'version' }
  | { kind: 'mistake'; text: string; command: Command | null }

const ownFlags: Readonly<Record<string, Flag>> = {
  help: { help: 'print this' },
  version: { help: 'print the version' },
}
const shortFlags: Readonly<Record<string, string>> = { h: 'help', v: 'version' }

type Token = Extract<NonNullable<ReturnType<typeof tokensOf>>[number], { kind: 'option' }>

export function askedFor(args: readonly string[], commands: readonly Command[]): Asked {
  const tokens = tokensOf(args, commands)
  const words = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []))
  const [name, ...rest] = words
  const command = commands.find((candidate) => candidate.name === name) ?? null
  const options = tokens.filter((token) => token.kind === 'option')
  if (name === 'version') return { kind: 'version' }
  if (command === null && name !== undefined && name !== 'help')
    return {
      kind: 'mistake',
      text: `unknown command "${name}"; ${findNearest(
        name,
        commands.map((known) => known.name),
      )}.`,
      command: null,
    }
  if (name === 'help')
    return { kind: 'help', command: commands.find((candidate) => candidate.name === rest[0]) ?? null }
  if (options.some((token) => nameOf(token) === 'version')) return { kind: 'version' }
  if (options.some((token) => nameOf(token) === 'help')) return { kind: 'help', command }
  const problem = flagProblem(options, command) ?? (command === null ? null : wordProblem(rest, command))
  if (problem !== null) return { kind: 'mistake', text: problem, command }
  if (command === null) return { kind: 'help', command: null }
  return {
    kind: 'run',
    command,
    words: rest,
    flags: Object.fromEntries(options.map((token) => [nameOf(token), token.value ?? true])),
  }
}

/** Which flags take a value must be known before the command is: a flag has one meaning in all commands. */
function tokensOf(args: readonly string[], commands: readonly Command[]) {
  const known = Object.assign({}, globalFlags, ...commands.map((command) => command.flags)) as Record<
    string,
    Flag
  >
  const options = Object.fromEntries(
    Object.entries(known).map(([name, flag]) => [
      name,
      { type: flag.value === undefined ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens
}

const nameOf = (token: Token): string =>
  token.rawName.startsWith('--') ? token.name : (shortFlags[token.name] ?? token.name)

function flagProblem(options: readonly Token[], command: Command | null): string | null {
  const known: Readonly<Record<string, Flag>> = { ...command?.flags, ...globalFlags, ...ownFlags }
  for (const token of options) {
    const flag = known[nameOf(token)]
    if (flag === undefined)
      return `unknown flag ${token.rawName}${command === null ? '' : ` of ${command.name}`}; ${findNearest(
        `--${token.name}`,
        Object.keys(known)
          .filter((name) => command?.without?.[name as keyof typeof globalFlags] === undefined)
          .map((name) => `--${name}`),
      )}.`
    const meaningless = command?.without?.[nameOf(token) as keyof typeof globalFlags]
    if (meaningless !== undefined)
      return `${token.rawName} means nothing to ${command?.name}: ${meaningless}.`
    if (flag.value === undefined && token.value !== undefined) return `${token.rawName} takes no value.`
    if (
      flag.value !== undefined &&
      (token.value === undefined || (token.inlineValue === false && /^-(?![\d.])/.test(token.value)))
    )
      return `${token.rawName} needs a value: ${token.rawName} ${flag.value}.`
  }
  return null
}

function wordProblem(words: readonly string[], command: Command): string | null {
  const missing = command.words[words.length]
  if (missing !== undefined && !missing.startsWith('[')) return `${command.name} needs ${missing}.`
  const extra = words[command.words.length]
  if (extra === undefined) return null
  return `"${extra}" is one word too many for ${command.name}${command.words.length > 0 ? '; put quotes around a text of several words' : ''}.`
}
