/** What is recorded of a call that opened, and of one that was refused. */
import type { OpenDecision } from '../../model/call.ts'
import type { EventOf } from '../../model/event.ts'
import type { Notices } from '../../model/event-parts.ts'
import { type CallId } from '../../model/id.ts'
import { nothingSpent } from '../../model/money.ts'
import { explain, type Refusal, isRefusal } from '../../model/refusal.ts'
import { preview } from '../../model/text.ts'
import type { CallResult } from '../kernel/ports.ts'
import { type Running } from '../kernel/running.ts'
import { type Plan, type Opened, emptyManifest } from './call-plan.ts'

export function openedEvent(
  caller: Running,
  plan: Plan,
  { grant, deadline, boundBy }: Exclude<OpenDecision, Refusal>,
  told: boolean,
  notices: Notices | null,
): Opened {
  const { context, request } = plan
  const notes = isRefusal(context) ? [] : [...context.notes, ...plan.notes]
  return {
    type: 'call.opened',
    session: caller.row.session,
    turn: caller.row.id,
    call: plan.call,
    key: plan.key,
    flow: caller.row.flow,
    target: plan.target.session,
    tool: request.tool,
    task: request.task,
    taskHash: plan.taskHash,
    input: request.input ?? null,
    background: request.background,
    outputSchema: request.outputSchema ?? null,
    requested: plan.requested,
    deadline,
    grant,
    context: isRefusal(context) ? emptyManifest : context.manifest,
    attachment: isRefusal(context) ? request.attachment : (context.attachment ?? request.attachment),
    ...(plan.boundary === null ? {} : { boundary: plan.boundary }),
    ...(notices === null ? {} : { notices }),
    ...(told && { told }),
    ...(notes.length > 0 && { notes }),
    boundBy,
  }
}

/** A refused task may be huge; its start says which it was. */
const taskShownMax = 2000

export function refusedEvent(caller: Running, plan: Plan, refusal: Refusal): EventOf<'call.refused'> {
  return {
    type: 'call.refused',
    session: caller.row.session,
    turn: caller.row.id,
    call: plan.call,
    key: plan.key,
    tool: plan.request.tool,
    agent: plan.target.name,
    task: preview(plan.request.task, taskShownMax),
    taskHash: plan.taskHash,
    requested: plan.requested,
    ...(plan.boundary === null ? {} : { boundary: plan.boundary }),
    refusal,
  }
}

export function refusedResult(caller: Running, call: CallId, agent: string, refusal: Refusal): CallResult {
  return {
    call,
    agent,
    outcome: 'refused',
    output: '',
    truncated: false,
    errors: [explain(refusal)],
    toolCalls: [],
    tokensUsed: 0,
    spent: nothingSpent,
    durationMs: 0,
    iterations: 0,
    path: [...caller.row.grant.path.map((hop) => hop.agent), agent],
    refusal,
    notes: [],
  }
}
