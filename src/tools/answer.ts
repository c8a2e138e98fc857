/** How tools are made: one way to read input, one shape for a refusal. */
import { z } from 'zod'
import type { Json } from '../model/json.ts'
import { readInput } from '../model/read-input.ts'
import { explain, isRefusal, type Refusal } from '../model/refusal.ts'
import type { Tool, ToolAnswer, ToolContext, TurnContext } from '../runtime/kernel/ports.ts'
import { refusalOfFs, type Workplace } from './containment.ts'

export const answered = (value: Json): ToolAnswer => ({ ok: true, value })

/** How every workspace tool refuses. */
export const refused = (refusal: Refusal): ToolAnswer => ({
  ok: false,
  value: { error: { code: refusal.code, message: explain(refusal) } },
})

export const workplace = ({ session: { cwd }, hidden }: ToolContext): Workplace => ({ cwd, hidden })

/** The bound is the kernel's own (PATH_MAX), so that a longer path is refused with words. */
export const Path = z
  .string()
  .min(1, 'a path that is not empty')
  .max(4096, 'a path of at most 4096 characters')

/** Half of a surrogate pair has no bytes in UTF-8, and would match inside a whole one. */
export const Text = z.string().refine((text) => text.isWellFormed(), 'text without halves of surrogate pairs')

export const Task = z.string().refine((task) => task.trim() !== '', 'a text that says what to do')

export type ToolDefinition<Input extends z.ZodType> = Pick<Tool, 'name' | 'effect' | 'waits'> & {
  calling?: boolean
  description: string | ((turn: TurnContext) => string)
  input: Input
  run: (input: z.output<Input>, context: ToolContext) => Promise<ToolAnswer>
  /** Also for input that does not parse. */
  refuse: NonNullable<Tool['refuse']>
}

export function parsedTool<Input extends z.ZodType>({
  calling = false,
  description,
  input,
  run,
  ...tool
}: ToolDefinition<Input>): Tool {
  const schema = once(() => toJsonSchema(input))
  return {
    ...tool,
    calling,
    describe: (turn) => ({
      name: tool.name,
      description: typeof description === 'string' ? description : description(turn),
      input: schema(),
    }),
    async run(given, context) {
      const read = readInput(input, given)
      return isRefusal(read) ? tool.refuse(read, given, context) : run(read.data, context)
    },
  }
}

/**
 * A tool that works in the session's directory: input that does not parse and paths that the disk declines
 * are refusals, all else that breaks is a fault.
 */
export function workspaceTool<Input extends z.ZodType<object>>(
  definition: Omit<ToolDefinition<Input>, 'calling' | 'waits' | 'refuse'>,
): Tool {
  const tool = parsedTool({
    ...definition,
    async run(input, context) {
      try {
        return await definition.run(input, context)
      } catch (error) {
        const refusal = refusalOfFs(error, 'path', 'path' in input ? input.path : '.')
        if (refusal === null) throw error
        return refused(refusal)
      }
    },
    refuse: async (refusal) => refused(refusal),
  })
  return {
    ...tool,
    async run(input, context) {
      context.signal.throwIfAborted()
      return tool.run(input, context)
    },
  }
}

/** Made when it is first needed: importing the library does not wait for it. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null
  return () => (made ??= { value: make() }).value
}

/**
 * Leaves out what costs tokens in every request and tells a model nothing: the dialect, the bounds that only
 * say "an integer", and how long a list or a text may be, far above what anybody gives.
 */
export function toJsonSchema(schema: z.ZodType): { [name: string]: Json } {
  const { $schema: _dialect, ...shape } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      delete jsonSchema.maxItems
      delete jsonSchema.maxLength
    },
  })
  return shape as { [name: string]: Json }
}
