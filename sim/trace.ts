/** A run as a timeline that can be read: when, who wrote it, on whose timeline, and what. */
import type { Event, EventOf } from '../src/model/event.ts'
import type { Plan } from './plan.ts'
import type { Verdict } from './play.ts'
import { startAt } from './scheduler.ts'

export function renderTrace(plan: Plan, verdict: Verdict): string[] {
  const lines = verdict.trace.map(({ at, writer, event }) => ({
    at: at - startAt,
    line: `${(writer ?? '-').replace('node_', '').padEnd(8)} ${event.type.padEnd(15)} ${describeEvent(event)}`,
  }))
  for (const fault of plan.faults)
    lines.push({
      at: fault.at,
      line: `*        ${fault.kind.padEnd(15)} ${JSON.stringify({ ...fault, at: undefined, kind: undefined })}`,
    })
  return lines
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, line }) => `${(at / 1000).toFixed(3).padStart(8)}  ${line}`)
}

const seconds = (at: number): string => ((at - startAt) / 1000).toFixed(3)

function describeEvent(event: Event): string {
  const where = `${event.turn ?? event.session}`
  switch (event.type) {
    case 'call.opened':
      return `${where} opens ${event.call} to ${event.target} (${describeGrant(event)}): ${event.task}`
    case 'call.refused':
      return `${where} ${event.tool} ${event.agent}: ${event.refusal.code}`
    case 'call.ended':
      return `${event.call} ${event.outcome} (${event.cause})`
    case 'turn.started':
      return `${where} in ${event.session}, epoch ${event.epoch}, deadline ${seconds(event.deadline)}`
    case 'turn.ended':
      return `${where} ${event.outcome}, ${describeEnd(event)}`
    case 'turn.cancelled':
      return `${where} ${event.outcome} (${event.cause})`
    case 'turn.suspended':
    case 'session.claimed':
      return `${where} by ${event.node}, epoch ${event.epoch}`
    case 'message.sent':
      return `${where} to ${event.session}: ${event.text}, tokens ${event.grant.tokensMax ?? '-'}`
    case 'wait.started':
      return `${where} waits for ${event.target}`
    case 'wait.ended':
      return `${where} waited for ${event.target}: ${event.reason}`
    case 'step.started':
    case 'step.ended':
      return `${where} ${event.kind} ${event.name}`
    case 'flow.seen':
      return `${where} ${event.flow} was seen`
    case 'notice.raised':
      return `${where} about ${event.about}`
    case 'question.asked':
    case 'question.answered':
      return `${where} ${event.type} ${event.question}`
    case 'message.drafted':
    case 'message.revised':
    case 'message.released':
    case 'message.accepted':
    case 'message.delivered':
    case 'message.answered':
    case 'message.declined':
    case 'message.died':
      return `${where} ${event.message}`
    case 'mail.announced':
    case 'session.woken':
      return `${where} ${event.messages.join(', ')}`
    case 'call.steered':
    case 'session.opened':
    case 'session.closed':
    case 'session.quieted':
    case 'session.cancelled':
    case 'session.forked':
    case 'agent.created':
    case 'agent.deleted':
    case 'session.created':
    case 'session.adopted':
    case 'session.renamed':
    case 'session.archived':
      return event.session
  }
}

function describeGrant({ grant, deadline, background }: EventOf<'call.opened'>): string {
  const parts = [grant.agent, `depth ${grant.depth}`, `tokens ${grant.tokensMax ?? '-'}`]
  return [...parts, `deadline ${seconds(deadline)}`, ...(background ? ['background'] : [])].join(', ')
}

function describeEnd({ tokensUsed, tokensBelow, error }: EventOf<'turn.ended'>): string {
  const tokens = `tokens ${tokensUsed} and ${tokensBelow} below`
  return error === null ? tokens : `${tokens}: ${error.split('\n')[0] ?? ''}`
}
