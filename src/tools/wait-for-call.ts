/** `wait_for_call`: waits for a call in the background, in slices short enough for every client. */
import { z } from 'zod'
import { waitSecondsDefault, waitSecondsMax } from '../model/limits.ts'
import { isRefusal } from '../model/refusal.ts'
import type { CountTokens } from '../model/text.ts'
import { renderResult } from '../runtime/calls/sub-agent.ts'
import type { Tool } from '../runtime/kernel/ports.ts'
import { answered, parsedTool } from './answer.ts'
import { refuseTool } from './refused-answer.ts'

export const WaitSeconds = z
  .number()
  .min(0)
  .optional()
  .describe(`default ${waitSecondsDefault}, at most ${waitSecondsMax}`)

export const toWaitMs = (seconds: number = waitSecondsDefault): number =>
  Math.min(seconds, waitSecondsMax) * 1000

const name = 'wait_for_call'

/** Waiting again would only come to the same. */
export const describeRing = (ring: readonly string[]): string =>
  `Not waited for: it waits for you, in a ring (${ring.join(' -> ')}). ` +
  'Do not wait again. Finish your own work, and it goes on; its result comes to you later.'

export const waitForCallTool = (count: CountTokens): Tool =>
  parsedTool({
    name,
    effect: 'read',
    calling: true,
    waits: true,
    description: 'Waits for a call in the background: its result, or what it has said so far.',
    input: z.strictObject({
      call_id: z.string().min(1, 'the call_id that the call returned').describe('its id, or "last"'),
      timeout_seconds: WaitSeconds,
    }),
    async run(input, { acts, shownTokens }) {
      const waited = await acts.waitForCall(input.call_id, toWaitMs(input.timeout_seconds))
      if (isRefusal(waited)) return refuseTool(name, input, waited)
      if ('result' in waited) return renderResult(waited.result, shownTokens, count)
      return answered({
        call_id: input.call_id,
        outcome: null,
        partial: waited.partial,
        next:
          waited.ring === undefined
            ? `Still running. Call wait_for_call with call_id "${input.call_id}" again.`
            : describeRing(waited.ring),
      })
    },
    refuse: async (refusal, input) => refuseTool(name, input, refusal),
  })
