/** Paths and texts of configuration files, and what is said when they are wrong. */
import { isAbsolute, join, resolve } from 'node:path'
import { parse as parseToml, TomlError } from 'smol-toml'
import type { ConfigText } from './trust/config-text.ts'

/** The message has one line for each problem. */
export class ConfigError extends Error {
  readonly problems: readonly string[]
  constructor(place: string, problems: readonly string[], options?: ErrorOptions) {
    super(problems.map((text) => `${place}: ${text}`).join('\n'), options)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

export const describeFault = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** Throws a ConfigError with the place of a mistake. */
export function parseFile({ path, text }: ConfigText): unknown {
  try {
    return path.endsWith('.json') ? JSON.parse(text) : parseToml(text)
  } catch (error) {
    if (error instanceof TomlError)
      throw new ConfigError(`${path}:${error.line}:${error.column}`, [error.message.trimEnd()], {
        cause: error,
      })
    throw new ConfigError(path, [`this is not JSON: ${describeFault(error)}`], { cause: error })
  }
}

export function absolute(path: string, base: string, home: string): string {
  const expanded = path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path
  return isAbsolute(expanded) ? expanded : resolve(base, expanded)
}
