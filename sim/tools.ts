/** The tools of the simulated agents. */
import type { TurnId } from '../src/model/id.ts'
import type { Json } from '../src/model/json.ts'
import type { Tool } from '../src/runtime/kernel/ports.ts'
import { buffer } from '../src/tools/buffer.ts'
import { callAgentTool } from '../src/tools/calling.ts'
import { sendMessage } from '../src/tools/send-message.ts'
import { subAgentTool } from '../src/tools/calling.ts'
import { subagentTool } from '../src/tools/subagent.ts'
import { waitForCallTool } from '../src/tools/wait-for-call.ts'
import { countWords } from './count-words.ts'

/** `write` is the effect itself. */
const makeNote = (write: (turn: TurnId, input: Json) => void): Tool => ({
  name: 'note',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'note', description: 'Writes something down.', input: { type: 'object' } }),
  run: async (input, { turn }) => {
    write(turn.id, input)
    return { ok: true, value: 'noted' }
  },
})

export const makeTools = (write: (turn: TurnId, input: Json) => void): readonly Tool[] => [
  makeNote(write),
  sendMessage,
  buffer,
  subAgentTool(countWords),
  callAgentTool(countWords),
  subagentTool(countWords, ['note']),
  waitForCallTool(countWords),
]
