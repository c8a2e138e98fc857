/** A turn that runs and waits for nobody: what it did last, as far as it is recorded. */
import type { StoredEvent } from '../../model/event.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { ExplainedTurn } from '../../wire/explain.ts'

/** `remark` is what stands in its way; it is not in the log. */
export function describeBusy(row: TurnRow, events: readonly StoredEvent[], remark: string): ExplainedTurn {
  const last = events.findLast(({ event }) => event.turn === row.id && event.type !== 'turn.cancelled')
  const place = {
    agent: row.grant.agent,
    session: row.session,
    turn: row.id,
    since: last?.at ?? row.openedAt,
    deadline: row.call === null ? row.deadline : Math.min(row.deadline, row.call.deadline),
    stopping: row.stopping,
    node: row.node,
    tokens:
      row.grant.tokensMax === null
        ? null
        : { used: row.tokensUsed + row.tokensBelow, max: row.grant.tokensMax },
  }
  return { ...place, doing: remark === '' ? describeStep(last?.event) : `waits: ${remark}` }
}

function describeStep(event: StoredEvent['event'] | undefined): string {
  switch (event?.type) {
    case 'step.started':
      return `runs the tool ${event.name}, which has no result yet`
    case 'step.ended':
      return event.kind === 'tool'
        ? `has the result of ${event.name}, and asks what to do next`
        : `has an answer of ${event.name}, and goes on with it`
    case 'call.ended':
      return `has the end of a call (${event.outcome}), and goes on with it`
    case 'call.refused':
      return `was refused a call to ${event.agent} (${event.refusal.code}), and goes on without it`
    case 'turn.suspended':
      return 'was left when the server was stopped, and goes on when it runs again'
    case 'session.claimed':
      return 'was resumed after the process that ran it was gone, and goes on from its record'
    case 'question.asked':
      return `asks a person whether it may use ${event.tool}`
    case 'question.answered':
      return `was answered by a person (${event.answer}), and goes on`
    case 'call.steered':
      return 'was spoken to, and goes on with that in mind'
    case undefined:
    case 'session.cancelled':
    case 'session.forked':
    case 'message.drafted':
    case 'message.revised':
    case 'message.released':
    case 'message.accepted':
    case 'message.delivered':
    case 'message.answered':
    case 'message.declined':
    case 'message.died':
    case 'agent.created':
    case 'agent.deleted':
    case 'session.adopted':
    case 'session.renamed':
    case 'session.created':
    case 'flow.seen':
    case 'session.archived':
    case 'message.sent':
    case 'turn.started':
    case 'turn.cancelled':
    case 'turn.ended':
    case 'call.opened':
    case 'wait.started':
    case 'wait.ended':
    case 'notice.raised':
    case 'mail.announced':
    case 'session.woken':
    case 'session.opened':
    case 'session.closed':
    case 'session.quieted':
      return 'has begun and recorded nothing yet: it waits for its model or driver'
  }
}
