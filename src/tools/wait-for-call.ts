/**
 * `wait_for_call`: waits for a call that was started in the background, in slices short enough for every
 * client.
 */
import { z } from 'zod'
import { waitSecondsDefault, waitSecondsMax } from '../model/limits.ts'
import { explain, refusalOfZod, type Refusal, isRefusal } from '../model/refusal.ts'
import type { CountTokens } from '../model/text.ts'
import type { Tool, ToolAnswer } from '../runtime/kernel/ports.ts'
import { toJsonSchema, once } from './answer.ts'
import { renderSubAgentAnswer } from './sub-agent.ts'

const Input = z.strictObject({
  call_id: z.string().min(1, 'the call_id that the call returned'),
  timeout_seconds: z
    .number()
    .min(0)
    .optional()
    .describe(`default ${waitSecondsDefault}, at most ${waitSecondsMax}`),
})
const schema = once(() => toJsonSchema(Input))

export function waitForCallTool(count: CountTokens): Tool {
  return {
    name: 'wait_for_call',
    effect: 'read',
    calling: true,
    waits: true,
    describe: () => ({
      name: 'wait_for_call',
      description:
        'Waits for a call that was started with background: true and returns its result, or what it has said so far.',
      input: schema(),
    }),
    async run(input, context) {
      const parsed = Input.safeParse(input)
      if (!parsed.success) return no('', refusalOfZod(parsed.error, input))
      const { call_id: call } = parsed.data
      const seconds = Math.min(parsed.data.timeout_seconds ?? waitSecondsDefault, waitSecondsMax)
      const waited = await context.acts.waitForCall(call, seconds * 1000)
      if (isRefusal(waited)) return no(call, waited)
      if ('partial' in waited)
        return {
          ok: true,
          value: {
            call_id: call,
            outcome: null,
            partial: waited.partial,
            next: `Still running. Call wait_for_call with call_id "${call}" again.`,
          },
        }
      return renderSubAgentAnswer(waited.result, context, count)
    },
  }
}

const no = (call: string, refusal: Refusal): ToolAnswer => ({
  ok: false,
  value: {
    call_id: call,
    outcome: 'refused',
    partial: '',
    error: { code: refusal.code, message: explain(refusal) },
  },
})
