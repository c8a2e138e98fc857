/**
 * A mutation: one small mistake in one file, as data. It is found again by its text, not by its line, so it
 * survives changes around it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { z } from 'zod'

const Entry = z.strictObject({
  /** The mistake, as a sentence about behaviour. */
  says: z.string().min(1),
  /** Occurs exactly once in the file. */
  find: z.string().min(1),
  replace: z.string(),
  /** The nearest tests, where they are not those of the file. */
  tests: z.array(z.string()).min(1).optional(),
  /** If the tests pass, the simulator plays so many seeds. */
  seeds: z.number().int().min(1).optional(),
  /** Why no test can tell it from the original. It counts as alive all the same. */
  alive: z.string().min(1).optional(),
})

/** One list: mutations by the file that they are made in. */
const List = z.array(
  z.strictObject({ file: z.string(), tests: z.array(z.string()).min(1), mutations: z.array(Entry) }),
)

export type Mutation = z.infer<typeof Entry> & { file: string; tests: readonly string[] }

/** All mutations made by hand, in the order of the lists. */
export function readMutations(root: string): Mutation[] {
  const directory = join(root, 'mutants/lists')
  return readdirSync(directory)
    .sort()
    .flatMap((name) => List.parse(JSON.parse(readFileSync(join(directory, name), 'utf8'))))
    .flatMap(({ file, tests, mutations }) =>
      mutations.map((entry) => ({ ...entry, file, tests: entry.tests ?? tests })),
    )
}

/** The folder that a mutation is counted under: a room of the runtime, or a layer. */
export function findRoom({ file }: Pick<Mutation, 'file'>): string {
  const [, layer = '', room = ''] = file.split('/')
  if (layer === 'runtime' && room.endsWith('.ts')) return 'runtime/node'
  if (layer === 'runtime' || layer === 'adapters') return `${layer}/${room}`
  return layer.endsWith('.ts') ? 'entry points' : layer
}

/** The text of the file with the mistake in it. Throws if the mutation doesn't fit the file any more. */
export function mutate({ says, file, find, replace }: Mutation, source: string): string {
  const times = source.split(find).length - 1
  if (times !== 1)
    throw new Error(`${file}: "${says}" no longer applies, because its text occurs ${times} times:\n${find}`)
  return source.replace(find, () => replace)
}

/** What is wrong with a mutation itself; null if nothing is. */
export function findProblem(mutation: Mutation, root: string): string | null {
  const problem = (what: string): string => `${mutation.file}: "${mutation.says}" ${what}`
  if (mutation.find === mutation.replace) return problem('changes nothing')
  try {
    const { errors } = parseSync(
      mutation.file,
      mutate(mutation, readFileSync(join(root, mutation.file), 'utf8')),
    )
    return errors.length === 0 ? null : problem(`is not TypeScript: ${errors[0]?.message ?? ''}`)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
