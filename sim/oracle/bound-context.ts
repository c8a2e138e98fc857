/** How many tokens a child is given in any case: at least its prompt and its task, at most those in their frame. */
import { countWords } from '../count-words.ts'
import type { CallAsk } from './judge-call.ts'

export type Bounds = { least: number; most: number }

/** Words and marks of a frame, of how a subagent must answer, of a schema, and of the longest summary. */
const frame = { least: 8, most: 24 }
const shapeMost = { subagent: 140, schema: 60 }
const summaryMost = 700

export function boundContext(prompt: string, { act, task }: CallAsk): Bounds {
  const bare = countWords(prompt) + countWords(task)
  const shape =
    (act.tool === 'subagent' ? shapeMost.subagent : 0) + (act.schema === true ? shapeMost.schema : 0)
  const summary = act.summary === true ? summaryMost : 0
  return { least: bare + frame.least, most: bare + frame.most + shape + summary }
}
