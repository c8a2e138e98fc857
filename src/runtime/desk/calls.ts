/** Calls, as anybody may ask for them. */
import { Outcome } from '../../model/event.ts'
import { isRecord, textAt, type Json } from '../../model/json.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import type { CallAnswer, CallRecord, Calls, NewCall, Steered } from '../../wire/calls.ts'
import { isCallId } from '../../model/id.ts'
import { steerCall } from '../calls/steer.ts'
import { steerOwn } from '../sessions/acts.ts'
import { emptyCallAnswer } from '../calls/sub-agent.ts'
import { actInOwnTurn } from '../sessions/client-turn.ts'
import { useInTurn } from '../sessions/live-turn.ts'
import { findCall } from '../look/find.ts'
import { listCalls } from '../look/listing.ts'
import { readRecord } from '../look/record.ts'
import { refuseAsker, toUse, type Asker } from './asker.ts'
import { findActor, findTool, type Gate } from './gate.ts'
import type { DeskParts } from './parts.ts'

/** A call that was not allowed is on record too. */
export type RefusedCall = Refusal & { call_id?: string }

export type CallDesk = {
  /** Blocks until the callee has ended, whatever its outcome, unless it goes on in the background. */
  open(call: NewCall): Promise<CallAnswer | RefusedCall>
  get(id: string): Promise<CallRecord | Refusal>
  /** A word to a callee while it runs, from its caller, those above, or the user. */
  steer(id: string, message: string): Promise<Steered | Refusal>
  /** Newest first, one page; a page may be short. */
  list(ask?: {
    session?: string | undefined
    limit?: number | undefined
    cursor?: string | undefined
  }): Promise<Calls | Refusal>
}

const pageDefault = 50

export function callDesk(parts: DeskParts, asker: Asker, gate: Gate): CallDesk {
  const { runtime } = parts
  return {
    async open({ from, agent, ...rest }) {
      const who = await gate.actor('from', from ?? null)
      const actor = isRefusal(who) ? who : await findActor(parts, who)
      if (isRefusal(actor)) return actor
      // As a use of `sub_agent`: what a client asks for has one record, however it asks.
      const asked = { tool: 'sub_agent', input: { agent_name: agent, ...rest } as Json }
      const used =
        actor.kind === 'turn'
          ? await useInTurn(runtime, actor.running, asked, toUse(asker))
          : await actInOwnTurn(runtime, actor, asked, toUse(asker), findTool(parts, actor, asked.tool).no)
      if (isRefusal(used)) return used
      const value = isRecord(used.value) ? used.value : {}
      if (value['outcome'] === 'refused') return refusedCall(parts, value)
      return 'call_id' in value ? (value as CallAnswer) : stoppedAnswer(agent, value)
    },
    async get(given) {
      const found = asker.who.kind === 'user' ? await findCall(runtime.lists, given) : { id: given }
      if (isRefusal(found)) return found
      const { id } = found
      const record = await readRecord(runtime.store, id)
      const sessions = record === null ? [] : [record.callerSession, record.targetSession]
      for (const session of sessions)
        if (session?.startsWith('ses_') === true && (await gate.sees(session as `ses_${string}`)))
          return record as CallRecord
      return { code: 'call_unknown', call: id }
    },
    async steer(id, message) {
      // What others have asked for must not be found by guessing.
      const found = asker.who.kind === 'user' ? await findCall(runtime.lists, id) : { id }
      if (isRefusal(found)) return found
      const record = await readRecord(runtime.store, found.id)
      if (record === null || !isCallId(record.call)) return { code: 'call_unknown', call: id }
      if (asker.who.kind === 'user') return steerCall(runtime, record.call, message, null, asker.act)
      const actor = await findActor(parts, asker.who)
      if (isRefusal(actor)) return actor
      const { session } = actor.kind === 'turn' ? actor.running : actor
      return steerOwn(runtime, session.id, record.call, message, asker.act)
    },
    async list({ session, limit = pageDefault, cursor } = {}) {
      const given = session ?? (asker.who.kind === 'session' ? asker.who.session : null)
      if (given === null && asker.who.kind !== 'user') return refuseAsker(asker.who, 'list calls')
      const row = given === null ? null : await gate.find(given)
      if (row !== null && isRefusal(row)) return row
      const { calls, next } = await listCalls(
        {
          store: runtime.store,
          lists: runtime.lists,
          nameOf: (name) => runtime.agents.get(name)?.title ?? name,
        },
        { session: row?.id ?? null, limit, before: cursor === undefined ? null : Number(cursor) },
      )
      return { calls, next: next === null ? null : String(next) }
    },
  }
}

type Fields = Record<string, Json>

/** The client's own turn ended before its call could answer: it was cancelled, or its time was over. */
function stoppedAnswer(agent: string, { error = null }: Fields): CallAnswer {
  return {
    ...emptyCallAnswer,
    agent_name: agent,
    call_id: textAt(error, 'call_id'),
    errors: [textAt(error, 'message') || 'the request was stopped'],
    outcome: Outcome.catch('cancelled').parse(textAt(error, 'code')),
  }
}

async function refusedCall({ runtime }: DeskParts, value: Fields): Promise<RefusedCall> {
  const call = textAt(value, 'call_id')
  const refusal = (await readRecord(runtime.store, call))?.refusal
  return refusal == null ? { code: 'call_unknown', call } : { ...refusal, call_id: call }
}
