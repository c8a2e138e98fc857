/**
 * Tools that a program outside uses by itself: they are written down where their session stands, outside of
 * any turn, because they were no step of ours. What began and never ended is in the log too. The program's
 * own key is that of one use: tried again, it is written once.
 */
import type { Event } from '../../model/event.ts'
import type { SessionId } from '../../model/id.ts'
import { badInput, type Refusal } from '../../model/refusal.ts'
import { byteLength } from '../../model/text.ts'
import { resolveClient } from './actor.ts'
import type { Runtime } from './runtime.ts'
import type { TracedTool } from '../../wire/tools.ts'

const bytesMax = 64 * 1024

export async function traceTool(
  runtime: Runtime,
  session: SessionId,
  { key, tool, input, ended }: TracedTool,
): Promise<{ recorded: true } | Refusal> {
  const row = await runtime.store.session(session)
  if (row === null) return { code: 'session_unknown', session }
  if (resolveClient(runtime, row) === null)
    return badInput(
      'session',
      session,
      'a session that a program outside runs; what is run here is recorded by itself',
    )
  const bytes = byteLength(JSON.stringify([input, ended]))
  if (bytes > bytesMax) return { code: 'too_large', field: 'input and output', bytes, bytesMax }
  const step = { session, turn: null, kind: 'tool' as const, name: tool, key, input }
  const event: Event =
    ended === null
      ? { type: 'step.started', ...step }
      : { type: 'step.ended', ...step, ...ended, usage: null }
  await runtime.store.transact([`session:${session}`], async (tx) => {
    const known = await tx.traced(session, key)
    if (known === null || (known === 'begun' && ended !== null)) tx.append(event)
  })
  return { recorded: true }
}
