/** A person's leave for one use of a tool. */
import type { Json } from '../../model/json.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { Running } from '../kernel/running.ts'
import { occurrence, type Step } from './occurrence.ts'
import { goneCause } from './question.ts'
import type { Runtime } from './runtime.ts'

type Asked = { name: string; input: Json; request: string; key: string }
type Leave = { key: string; refusal: null } | { key: string; refusal: Refusal }

/**
 * The leave, or the refusal where there is none. A question that nobody answered, because its client went away, is no
 * answer: whoever asks for the tool again asks anew, as the next step.
 */
export async function askLeave(
  runtime: Runtime,
  running: Running,
  { name, input, request, key: first }: Asked,
  { gone, step = { key: null } }: { gone?: AbortSignal | undefined; step?: Step | undefined },
): Promise<Leave> {
  for (let key = first; ; key = occurrence(running, request, step)) {
    const { answer, by, reason } = await runtime.rooms.askPerson(running, name, input, key, gone)
    gone?.throwIfAborted()
    if (answer === 'allow') return { key, refusal: null }
    const why = `a person was asked first, and it was not allowed (${by})`
    const said = reason === null ? why : `${why}. They said: ${reason}`
    if (by !== goneCause) return { key, refusal: { code: 'tool_disabled', tool: name, why: said } }
    step.key = null
  }
}
