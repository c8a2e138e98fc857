/** O5: the time and the tokens that something is given are those that its sender asked for, within what is left. */
import type { EventOf } from '../../src/model/event.ts'
import type { Limits } from '../../src/model/limits.ts'
import type { Broken } from '../ledger.ts'
import type { Root } from '../plan.ts'
import { boundTokens, decidedMs, type Judged } from './judge-call.ts'

/** A caller keeps a twentieth of its time, and at most this, to use what it was told. */
const keptMs = 2000
const keptShare = 0.05

export function checkGranted(judged: Judged, event: EventOf<'call.opened'>): Broken {
  const { ledger, parent, ask, at, limits } = judged
  const askedMs =
    ask.act.timeoutMs ??
    {
      sub_agent: limits.subAgentTimeoutMs,
      subagent: limits.subagentTimeoutMs,
      call_agent: limits.callAgentTimeoutMs,
    }[ask.act.tool]
  const leftMs = Math.min(parent.deadline, parent.call?.deadline ?? Infinity) - at
  const shareMs = leftMs - Math.min(keptMs, leftMs * keptShare)
  const givenMs = Math.max(0, Math.floor(Math.min(askedMs, limits.callTimeoutMsMax, shareMs)))
  const off = event.deadline - at - givenMs
  if (Math.abs(off) > decidedMs + ledger.jumps.jumpsMs)
    return `O5: ${event.call} may run ${event.deadline - at} ms, and was to be given ${givenMs} ms`
  const needed = Math.max(1, event.context.tokens)
  const [most, least] = boundTokens(judged, needed, needed)
  const { tokensMax } = event.grant
  const isRight =
    most === null || least === null
      ? tokensMax === most
      : tokensMax !== null && tokensMax <= most && tokensMax >= least
  return isRight
    ? null
    : `O5: ${event.call} may use ${tokensMax ?? 'any'} tokens; right is ${least ?? 'any'} to ${most ?? 'any'}`
}

export function checkRoot(
  { timeoutMs, maxTokens }: Root,
  event: EventOf<'message.sent'>,
  at: number,
  { flowTokensMax }: Limits,
  jumpsMs: number,
): Broken {
  const until = timeoutMs === undefined ? null : at + timeoutMs
  const off = (event.deadline ?? 0) - (until ?? 0)
  if ((event.deadline === null) !== (until === null) || Math.abs(off) > decidedMs + jumpsMs)
    return `O5: ${event.message} may take until ${event.deadline ?? 'ever'}; its sender said ${until ?? 'nothing'}`
  const tokens = Math.min(maxTokens ?? Infinity, flowTokensMax ?? Infinity)
  return (event.grant.tokensMax ?? Infinity) === tokens
    ? null
    : `O5: ${event.message} may use ${event.grant.tokensMax ?? 'any'} tokens, and its sender said ${tokens}`
}
