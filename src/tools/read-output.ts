/** `read_output`: the rest of an answer that was too long to be shown. */
import { z } from 'zod'
import { isRefusal } from '../model/refusal.ts'
import { answered, parsedTool } from './answer.ts'
import { refuseTool } from './refused-answer.ts'

const limitDefault = 8000
const limitMax = 40_000
const name = 'read_output'

export const readOutput = parsedTool({
  name,
  effect: 'read',
  calling: true,
  description: 'Reads more of a result that was too long to be shown.',
  input: z.strictObject({
    call_id: z.string().min(1, 'the call_id that the call returned').describe('its id, or "last"'),
    offset: z.number().int().min(0).default(0).describe('in characters'),
    limit: z
      .number()
      .int()
      .min(1)
      .optional()
      .describe(`characters, default ${limitDefault}, at most ${limitMax}`),
  }),
  async run({ call_id, offset: from, limit = limitDefault }, { acts }) {
    const read = await acts.readOutput(call_id, from, Math.min(limit, limitMax))
    if (isRefusal(read)) return refuseTool(name, { call_id }, read)
    const { text, offset, nextOffset, total } = read
    return answered({ call_id, text, offset, next_offset: nextOffset, total })
  },
  refuse: async (refusal, input) => refuseTool(name, input, refusal),
})
