/** The record of a call, from the log: everything that is not in the caller's context. */
import type { EventOf } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import { isCallId, toTurnId } from '../../model/id.ts'
import { explain } from '../../model/refusal.ts'
import { preview } from '../../model/text.ts'
import type { Store } from '../kernel/store-port.ts'
import type { CallRecord } from '../../wire/calls.ts'
import { nothingSpent, recalledSpent, renderCost } from '../../model/money.ts'
import { greaterAmount, noAmount, readSpent, type Amount } from './spent.ts'

const previewPoints = 200

export async function readRecord(store: Store, id: string): Promise<CallRecord | null> {
  if (!isCallId(id)) return null
  const row = await store.turn(toTurnId(id))
  if (row === null) return refusedRecord(store, id)
  const opened = await store.event(row.openedSeq)
  if (opened?.event.type !== 'call.opened') return null
  const stored = row.call?.pending === false && row.endedSeq !== null ? await store.event(row.endedSeq) : null
  const end = stored?.event.type === 'call.ended' ? stored.event : null
  // A call that did not complete says too little: it runs, or ended before those below it had stopped.
  const used = end?.outcome === 'completed' ? noAmount : await readUsed(store, row)
  return openedRecord(opened.event, opened.at, end, used)
}

const turnsMax = 10_000

const readUsed = async (store: Store, { id, flow }: TurnRow): Promise<Amount> =>
  (await readSpent(store, await store.turns({ flow }, turnsMax))).of.get(id) ?? noAmount

export const readEnded = (ended: EventOf<'call.ended'> | null): Amount =>
  ended === null
    ? noAmount
    : { tokens: ended.tokensUsed, spent: recalledSpent(ended.spent, ended.tokensUsed) }

function openedRecord(
  opened: EventOf<'call.opened'>,
  at: number,
  ended: EventOf<'call.ended'> | null,
  used: Amount,
): CallRecord {
  const { grant } = opened
  const { tokens, spent } = greaterAmount(used, readEnded(ended))
  const output = ended?.output ?? ''
  return {
    call: opened.call,
    flow: opened.flow,
    tool: opened.tool,
    caller: grant.path.at(-2)?.agent ?? '',
    callerSession: opened.session,
    target: grant.agent,
    targetSession: opened.target,
    task: opened.task,
    taskHash: opened.taskHash,
    input: opened.input,
    requested: opened.requested,
    outcome: ended?.outcome ?? null,
    success: ended?.outcome === 'completed',
    output,
    output_preview: preview(output, previewPoints),
    outputBytes: ended?.outputBytes ?? 0,
    truncated: ended?.truncated ?? false,
    errors: ended?.errors ?? [],
    toolCalls: ended?.toolCalls ?? [],
    tokensUsed: tokens,
    cost: renderCost(spent),
    iterations: ended?.iterations ?? 0,
    depth: grant.depth,
    path: grant.path.map((hop) => hop.agent),
    allowedTools: grant.authority.tools,
    nested: grant.authority.nested,
    tokensMax: grant.tokensMax,
    deadline: opened.deadline,
    created_at: at,
    endedAt: ended?.endedAt ?? null,
    durationMs: ended === null ? null : ended.endedAt - ended.openedAt,
    context: opened.context,
    ...(ended?.moved === undefined ? {} : { moved: ended.moved }),
    refusal: null,
  }
}

async function refusedRecord(store: Store, id: string): Promise<CallRecord | null> {
  const stored = await store.refused(id)
  if (stored?.event.type !== 'call.refused') return null
  const { event, at } = stored
  const by = event.turn === null ? null : await store.turn(event.turn)
  return {
    call: event.call,
    flow: by?.flow ?? null,
    tool: event.tool,
    caller: by?.grant.agent ?? '',
    callerSession: event.session,
    target: event.agent,
    targetSession: null,
    task: event.task,
    taskHash: event.taskHash,
    input: null,
    requested: event.requested,
    outcome: 'refused',
    success: false,
    output: '',
    output_preview: '',
    outputBytes: 0,
    truncated: false,
    errors: [explain(event.refusal)],
    toolCalls: [],
    tokensUsed: 0,
    cost: renderCost(nothingSpent),
    iterations: 0,
    depth: by === null ? 0 : by.grant.depth + 1,
    path: by === null ? [] : [...by.grant.path.map((hop) => hop.agent), event.agent],
    allowedTools: null,
    nested: false,
    tokensMax: null,
    deadline: null,
    created_at: at,
    endedAt: at,
    durationMs: 0,
    context: null,
    refusal: event.refusal,
  }
}
