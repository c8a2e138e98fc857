/** `read_output`: the rest of an answer that was too long to be shown. */
import { z } from 'zod'
import { explain, refusalOfZod, type Refusal, isRefusal } from '../model/refusal.ts'
import type { Tool, ToolAnswer } from '../runtime/kernel/ports.ts'
import { toJsonSchema, once } from './answer.ts'

const limitDefault = 8000
const limitMax = 40_000

const Input = z.strictObject({
  call_id: z.string().min(1, 'the call_id that the call returned'),
  offset: z.number().int().min(0).default(0),
  limit: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe(`characters, default ${limitDefault}, at most ${limitMax}`),
})
const schema = once(() => toJsonSchema(Input))

export const readOutput: Tool = {
  name: 'read_output',
  effect: 'read',
  calling: true,
  describe: () => ({
    name: 'read_output',
    description: 'Reads the output of one of your calls from an offset on, when it was too long to be shown.',
    input: schema(),
  }),
  async run(input, context) {
    const parsed = Input.safeParse(input)
    if (!parsed.success) return no('', refusalOfZod(parsed.error, input))
    const { call_id: call, offset, limit } = parsed.data
    const read = await context.acts.readOutput(call, offset, Math.min(limit ?? limitDefault, limitMax))
    if (isRefusal(read)) return no(call, read)
    return {
      ok: true,
      value: {
        call_id: call,
        text: read.text,
        offset: read.offset,
        next_offset: read.nextOffset,
        total: read.total,
      },
    }
  },
}

const no = (call: string, refusal: Refusal): ToolAnswer => ({
  ok: false,
  value: {
    call_id: call,
    text: '',
    offset: 0,
    next_offset: null,
    total: 0,
    error: { code: refusal.code, message: explain(refusal) },
  },
})
