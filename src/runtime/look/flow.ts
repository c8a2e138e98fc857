/** What doors show of a flow: a root request with all its calls and messages. */
import type { TurnRow } from '../../model/facts.ts'
import { toCallId, type FlowId } from '../../model/id.ts'
import { pageUnitsMax } from '../../model/limits.ts'
import { opensTurn } from '../../model/opening.ts'
import type { CallRecord } from '../../wire/calls.ts'
import type { Flow } from '../../wire/log.ts'
import { mapGently } from '../kernel/gently.ts'
import type { Runtime } from '../kernel/runtime.ts'
import { readRecord } from './record.ts'
import { lastOutcome } from './state.ts'

const turnsMax = 10_000

/** About how much of a record depends on what others wrote. */
const measure = ({ task, output, input }: CallRecord): number =>
  task.length + output.length + (input === null ? 0 : JSON.stringify(input).length)

/**
 * The calls of a flow, of which there may be many, each with a long result: once there are more texts than a
 * page may carry, outputs are previews and inputs are left out. A single record has all of it.
 */
async function readCalls(runtime: Runtime, rows: readonly TurnRow[]): Promise<CallRecord[]> {
  let units = 0
  const calls = await mapGently(runtime, rows, async (row) => {
    const record = await readRecord(runtime.store, toCallId(row.id))
    if (record === null) return null
    units += measure(record)
    return units <= pageUnitsMax
      ? record
      : {
          ...record,
          input: null,
          output: record.output_preview,
          truncated: record.truncated || record.output_preview.length < record.output.length,
        }
  })
  return calls.filter((record) => record !== null)
}

/** One root request with all its calls; tokens and time are rolled up. */
export async function readFlow(runtime: Runtime, id: string): Promise<Flow | null> {
  const rows = await runtime.store.turns({ flow: id as FlowId }, turnsMax)
  const root = rows.find((row) => row.id === `turn_${id.slice(5)}`)
  const opened = root === undefined ? null : await runtime.store.event(root.openedSeq)
  if (root === undefined || opened === null || !opensTurn(opened.event)) return null
  const calls = await readCalls(
    runtime,
    rows.filter((row) => row.call !== null),
  )
  const ended = root.endedSeq === null ? null : await runtime.store.event(root.endedSeq)
  const end = ended?.event.type === 'turn.ended' ? ended.event : null
  return {
    flow: root.flow,
    root: {
      turn: root.id,
      session: root.session,
      agent: root.grant.agent,
      text: opened.event.text,
      outcome: end?.outcome ?? null,
      openedAt: opened.at,
      endedAt: ended?.at ?? null,
    },
    calls,
    messages: await messagesIn(
      runtime,
      rows.filter((row) => row.call === null && row.id !== root.id),
    ),
    tokensUsed:
      end === null
        ? calls.filter((call) => call.path.length === 2).reduce((sum, call) => sum + call.tokensUsed, 0)
        : end.tokensUsed + end.tokensBelow,
    durationMs: (ended?.at ?? runtime.clock.now()) - opened.at,
  }
}

/** What agents wrote to each other on behalf of this request, and what became of it. */
async function messagesIn(runtime: Runtime, rows: readonly TurnRow[]): Promise<Flow['messages']> {
  const messages = await mapGently(runtime, rows, async (row) => {
    const opened = (await runtime.store.event(row.openedSeq))?.event
    const sent = opened?.type === 'message.sent' || opened?.type === 'message.delivered' ? opened : null
    return sent === null
      ? null
      : {
          turn: row.id,
          session: row.session,
          agent: row.grant.agent,
          from: sent.from,
          text: sent.text,
          outcome: await lastOutcome(runtime, row),
          tokensUsed: row.tokensUsed,
          openedAt: row.openedAt,
        }
  })
  return messages.filter((message) => message !== null)
}
