/** What the caller of a call that timed out reads: which limit was binding, in the unit of its tool. */
import type { EventOf } from './event.ts'

type Timed = Pick<EventOf<'call.opened'>, 'tool' | 'deadline' | 'boundBy' | 'grant' | 'requested'>

export function describeTimeout(opened: Timed, openedAt: number, callTimeoutMsMax: number): string {
  const inMs = opened.tool === 'call_agent'
  const say = (ms: number): string => (inMs ? `${ms} ms` : `${ms / 1000} s`)
  const field = inMs ? 'timeout_ms' : 'timeout_seconds'
  const ms = opened.deadline - openedAt
  const more = ms < callTimeoutMsMax ? `; ${field} may be up to ${say(callTimeoutMsMax).split(' ')[0]}` : ''
  const why = {
    request: `, as ${field} says${more}`,
    default: `, the default of ${opened.tool}${more}`,
    callee: `, the limit of ${opened.grant.agent} itself: a larger ${field} would not help`,
    ceiling: ', the most that a call may take here',
    caller: `, all that was left of your own time: a larger ${field} would not help`,
  }[opened.boundBy ?? 'request']
  return `timed_out: no answer within ${say(ms)}${why}`
}
