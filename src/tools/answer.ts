/** What the workspace tools share: one way to read input, one shape for a refusal. */
import { z } from 'zod'
import type { Json } from '../model/json.ts'
import { explain, refusalOfZod, type Refusal } from '../model/refusal.ts'
import type { Tool, ToolAnswer, ToolContext, ToolEffect } from '../runtime/kernel/ports.ts'
import { refusalOfFs } from './containment.ts'

export const answered = (value: Json): ToolAnswer => ({ ok: true, value })

/** The one shape in which every workspace tool says no. */
export const refused = (refusal: Refusal): ToolAnswer => ({
  ok: false,
  value: { error: { code: refusal.code, message: explain(refusal) } },
})

/**
 * A path as a model gives it. The bound is the kernel's own (PATH_MAX), so that a longer one is refused with
 * words.
 */
export const Path = z
  .string()
  .min(1, 'a path that is not empty')
  .max(4096, 'a path of at most 4096 characters')

/**
 * Text that ends up in a file. Half of a surrogate pair has no bytes in UTF-8, and would match inside a whole
 * one.
 */
export const Text = z.string().refine((text) => text.isWellFormed(), 'text without halves of surrogate pairs')

type Definition<Input extends z.ZodType> = {
  name: string
  effect: ToolEffect
  description: string
  input: Input
  /** Gets input that was parsed, and a signal that had not aborted. */
  run(input: z.output<Input>, context: ToolContext): Promise<ToolAnswer>
}

/**
 * A tool that works in the session's directory: input that does not parse and paths that the disk declines
 * are refusals, all else that breaks is a fault.
 */
export function workspaceTool<Input extends z.ZodType>(definition: Definition<Input>): Tool {
  const spec = once(() => ({
    name: definition.name,
    description: definition.description,
    input: toJsonSchema(definition.input),
  }))
  return {
    name: definition.name,
    effect: definition.effect,
    calling: false,
    describe: spec,
    async run(input, context) {
      context.signal.throwIfAborted()
      const parsed = definition.input.safeParse(input)
      if (!parsed.success) return refused(refusalOfZod(parsed.error, input))
      try {
        return await definition.run(parsed.data, context)
      } catch (error) {
        const refusal = refusalOfFs(error, 'path', pathIn(input))
        if (refusal === null) throw error
        return refused(refusal)
      }
    },
  }
}

const pathIn = (input: Json): unknown =>
  input !== null && typeof input === 'object' && !Array.isArray(input) ? (input['path'] ?? '.') : input

/** Made when it is first needed: whoever only imports the library does not wait for it. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null
  return () => (made ??= { value: make() }).value
}

/**
 * Leaves out what costs tokens and tells a model nothing: the dialect, and the bounds that only say "an
 * integer".
 */
export function toJsonSchema(schema: z.ZodType): Json {
  const { $schema: _dialect, ...shape } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return shape as Json
}
