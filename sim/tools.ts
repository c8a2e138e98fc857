/** The tools of the simulated agents. */
import type { TurnId } from '../src/model/id.ts'
import type { Json } from '../src/model/json.ts'
import type { Clock, Tool } from '../src/runtime/kernel/ports.ts'
import { buffer } from '../src/tools/buffer.ts'
import { callAgentTool } from '../src/tools/calling.ts'
import { sendMessage } from '../src/tools/send-message.ts'
import { subAgentTool } from '../src/tools/calling.ts'
import { subagentTool } from '../src/tools/subagent.ts'
import { waitForCallTool } from '../src/tools/wait-for-call.ts'
import { countWords } from './count-words.ts'

const noteMs = 150
type Write = (turn: TurnId, input: Json) => void

/** `write` is the effect itself. */
const makeNote = (write: Write, clock: Clock): Tool => ({
  name: 'note',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'note', description: 'Writes something down.', input: { type: 'object' } }),
  run: async (input, { turn }) => {
    write(turn.id, input)
    // Long enough for a node to die between the effect and its record.
    if (Number((input as { n?: unknown }).n) % 2 === 0) await clock.sleep(noteMs)
    return { ok: true, value: 'noted' }
  },
})

/** They keep nothing, so all nodes have the same. */
const ready: readonly Tool[] = [
  sendMessage,
  buffer,
  subAgentTool(countWords),
  callAgentTool(countWords),
  subagentTool(countWords, ['note']),
  waitForCallTool(countWords),
]

export const makeTools = (write: Write, clock: Clock): readonly Tool[] => [makeNote(write, clock), ...ready]
