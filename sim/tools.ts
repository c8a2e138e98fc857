/** The tools of the simulated agents. */
import type { Tool } from '../src/runtime/kernel/ports.ts'
import { buffer } from '../src/tools/buffer.ts'
import { callAgentTool } from '../src/tools/calling.ts'
import { sendMessage } from '../src/tools/send-message.ts'
import { subAgentTool } from '../src/tools/calling.ts'
import { subagentTool } from '../src/tools/subagent.ts'
import { waitForCallTool } from '../src/tools/wait-for-call.ts'
import { countWords } from './count-words.ts'

const note: Tool = {
  name: 'note',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'note', description: 'Writes something down.', input: { type: 'object' } }),
  run: async () => ({ ok: true, value: 'noted' }),
}
export const tools: readonly Tool[] = [
  note,
  sendMessage,
  buffer,
  subAgentTool(countWords),
  callAgentTool(countWords),
  subagentTool(countWords, ['note']),
  waitForCallTool(countWords),
]
