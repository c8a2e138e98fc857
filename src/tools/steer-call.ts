/** `steer_call`: a word to an agent that works for you, without ending what it does. */
import { z } from 'zod'
import { Task } from './answer.ts'
import { sessionTool } from './session-tools.ts'

export const steerCall = sessionTool({
  name: 'steer_call',
  calling: true,
  description:
    'Says something to an agent that you called and that still runs; it goes on with that in mind.',
  input: z.strictObject({
    call_id: z.string().min(1, 'the call_id that the call returned').describe('its id, or "last"'),
    message: Task.describe('what to say'),
  }),
  run: ({ call_id, message }, { acts, stepKey }) => acts.steer(call_id, message, stepKey),
})
