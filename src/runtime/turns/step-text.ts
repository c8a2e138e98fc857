/** The tool calls and results of a turn as text, read back from the log: never a result without its call. */
import type { Entry } from '../../model/context.ts'
import type { StoredEvent } from '../../model/event.ts'
import type { SessionId, TurnId } from '../../model/id.ts'
import { preview } from '../../model/text.ts'
import type { Runtime } from './runtime.ts'
import { readRecorded } from '../kernel/recorded.ts'
import { readEnding } from '../kernel/waiting.ts'

const resultPointsMax = 2000

export async function addSteps(runtime: Runtime, session: SessionId, entry: Entry): Promise<Entry> {
  if (!entry.hasSteps) return entry
  const row = await runtime.store.turn(entry.turn as TurnId)
  if (row === null || row.session !== session) return entry
  const { events } = await readRecorded(runtime.store, row)
  const lines: string[] = []
  for (const stored of events) {
    const text = await renderStep(runtime, stored)
    if (text !== null) lines.push(text)
  }
  return lines.length === 0 ? entry : { ...entry, steps: lines.join('\n') }
}

async function renderStep(runtime: Runtime, { event }: StoredEvent): Promise<string | null> {
  if (event.type === 'step.ended' && event.kind === 'tool')
    return `${event.name}(${JSON.stringify(event.input)}) -> ${preview(JSON.stringify(event.output), resultPointsMax)}`
  if (event.type !== 'call.opened') return null
  const ending = await readEnding(runtime, event.call)
  return (
    `${event.tool}(${event.grant.agent}: ${event.task}) -> ` +
    `${ending === null ? 'pending' : preview(`${ending.ended.outcome}: ${ending.ended.output}`, resultPointsMax)}`
  )
}
