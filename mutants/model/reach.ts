/** Which tests can notice a mutant of a file. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const nameOf = (file: string): string => file.replace(/^.*\//, '').replace(/(\.test)?\.ts$/, '')

export type Reach = {
  /** Whether a test file is there for a file of the rules; where a file has none, each that loads it is. */
  isNear: (test: string, file: string) => boolean
}

const imported = /^(?:import|export) (?!type )[^']*'\.\/([\w-]+)\.ts'/gm

export function readReach(root: string): Reach {
  const directory = join(root, 'src/model')
  const sources = new Map(
    readdirSync(directory)
      .filter((name) => name.endsWith('.ts'))
      .map((name) => [name.slice(0, -3), readFileSync(join(directory, name), 'utf8')]),
  )
  const direct = (name: string): string[] =>
    [...(sources.get(name) ?? '').matchAll(imported)].map(([, found = '']) => found)
  const tests = [...sources.keys()].filter((name) => name.endsWith('.test')).map((name) => name.slice(0, -5))
  const loads = new Map(tests.map((test) => [test, closure(`${test}.test`, direct)]))
  const isOwn = (test: string, file: string): boolean => test === file || test.startsWith(`${file}-`)
  const withTests = new Set([...sources.keys()].filter((file) => tests.some((test) => isOwn(test, file))))
  return {
    isNear: (test, file) => (withTests.has(file) ? isOwn(test, file) : (loads.get(test)?.has(file) ?? false)),
  }
}

function closure(from: string, direct: (name: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const open = [from]
  for (let name = open.pop(); name !== undefined; name = open.pop())
    for (const next of direct(name))
      if (!found.has(next)) {
        found.add(next)
        open.push(next)
      }
  return found
}
