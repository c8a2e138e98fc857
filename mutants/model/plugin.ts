/**
 * The rules with all their mutants, for Vite. Ids follow the order of the files, so they are the same in every
 * process.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { instrument, type Mutant } from './instrument.ts'

type Instrumented = { text: string; mutants: Mutant[] }

export function instrumentAll(root: string): Map<string, Instrumented> {
  const found = new Map<string, Instrumented>()
  let next = 0
  for (const name of readdirSync(join(root, 'src/model')).sort()) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue
    const file = `src/model/${name}`
    const made = instrument(file, readFileSync(join(root, file), 'utf8'), next)
    next += made.mutants.length
    found.set(file, made)
  }
  return found
}

export function mutantsPlugin(root: string) {
  const files = instrumentAll(root)
  return {
    name: 'mutants',
    enforce: 'pre' as const,
    transform(_code: string, id: string): { code: string; map: null } | null {
      const path = id.split('?')[0] ?? ''
      const made = files.get(path.slice(path.lastIndexOf('src/model/')))
      return made === undefined ? null : { code: made.text, map: null }
    },
  }
}
