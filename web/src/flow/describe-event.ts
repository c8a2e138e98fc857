/** One event in a few words, for the slider. */
import type { Event, EventOf, EventType } from '../../../src/model/event.ts'
import { takeFirstLine } from '../format.ts'

type Words = {
  [T in EventType]?: (event: EventOf<T>, agent: string, named: (agent: string) => string) => string
}

const textMax = 80
const shorten = (text: string): string => takeFirstLine(text, textMax)

const words: Words = {
  'message.sent'(event, agent) {
    const release = event.releasedBy === 'user' ? ' by a draft that you released' : ''
    return `${agent} is asked${release}: ${shorten(event.text)}`
  },
  'message.drafted': (event, agent) => `${agent} drafts a message: ${shorten(event.text)}`,
  'message.revised'(event, agent) {
    const what = event.revisedBy === 'user' ? `you change a draft of ${agent}` : `${agent} changes a draft`
    return `${what}: ${shorten(event.text)}`
  },
  'message.delivered': (event, agent) => `${agent} is given a message: ${shorten(event.text)}`,
  'turn.started': (_event, agent) => `${agent} begins`,
  'turn.suspended': (_event, agent) => `${agent} pauses, because the server was stopped`,
  'turn.cancelled': (event, agent) => `${agent} is asked to stop: ${event.cause}`,
  'turn.ended': (event, agent) => `${agent} ends: ${event.outcome}`,
  'step.started': (event, agent) => `${agent} runs ${event.name}`,
  'step.ended': (event, agent) =>
    event.kind === 'tool'
      ? `${event.name} of ${agent} ${event.ok ? 'returns' : 'fails'}`
      : event.kind === 'move'
        ? `${agent} could not work: another agent takes over`
        : `${agent} hears from ${event.name}`,
  'call.opened': (event, agent, named) =>
    `${agent} calls ${named(event.grant.agent)}: ${shorten(event.task)}`,
  'call.refused': (event, agent, named) =>
    `${agent} may not call ${named(event.agent)}: ${event.refusal.code}`,
  'call.steered': (event, agent) => `${agent} is steered: ${shorten(event.text)}`,
  'call.ended': (event, agent) => `a call of ${agent} ends: ${event.outcome}`,
  'wait.started': (event, agent) => `${agent} waits for ${event.target}`,
  'wait.ended': (event, agent) => `${agent} waits no longer: ${event.reason}`,
  'question.asked': (event, agent) => `${agent} asks whether it may use ${event.tool}`,
  'question.answered': (event) => `the answer is ${event.answer} (${event.by})`,
  'mail.announced': (event, agent) =>
    `${agent} is told of ${event.messages.length === 1 ? 'a message' : `${event.messages.length} messages`}`,
  'session.woken': (event, agent) => `${agent} is made to go on: ${shorten(event.reason)}`,
  'notice.raised': (event, agent) => `${agent} gets a notice: ${shorten(event.text)}`,
  'session.created': (event, _agent, named) => `a session of ${named(event.agent)} is made`,
}

export function describeEvent(event: Event, agent: string, named: (agent: string) => string): string {
  const say = words[event.type] as
    | ((event: Event, agent: string, named: (agent: string) => string) => string)
    | undefined
  return say === undefined ? event.type : say(event, agent, named)
}
