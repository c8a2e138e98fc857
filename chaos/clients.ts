/**
 * Clients as they are in earnest: each talks to any node, tries again elsewhere when it hears nothing, and keeps
 * what it was answered. Every act has an id or a key, so that a second try is the same act.
 */
import { pause } from '../hostile/attack.ts'
import type { Random } from '../sim/random.ts'
import { systemClock } from '../src/runtime/kernel/system-clock.ts'
import type { History, Act, Told } from './history.ts'
import type { Member } from './member.ts'

export type Lane = {
  name: string
  members: readonly Member[]
  history: History
  random: Random
  signal: AbortSignal
  /** Where agents work. */
  cwd: string
  /** Sessions of clerks, of stampers and of sleepers. */
  sessions: readonly string[]
  stampers: readonly string[]
  sleepers: readonly string[]
}

type Asker = Pick<Lane, 'name' | 'members' | 'history' | 'random' | 'signal'>
export type Ask = { method: string; path: string; body?: object; key?: string }

const tryMsMax = 15_000
const retryMs = 100
const restMs = 40

export async function askOnce(member: Member, name: string, ask: Ask): Promise<Told | null> {
  const from = systemClock.elapsed()
  try {
    const response = await fetch(member.url + ask.path, {
      method: ask.method,
      headers: {
        'user-agent': name,
        ...(ask.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(ask.key === undefined ? {} : { 'idempotency-key': ask.key }),
      },
      ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
      signal: AbortSignal.timeout(tryMsMax),
    })
    const body = (await response.json()) as Record<string, unknown>
    return { node: member.name, status: response.status, body, from, at: systemClock.elapsed() }
  } catch {
    // Nobody knows what became of it: the next try, elsewhere, finds out.
    return null
  }
}

/** Asks one node after another until one says yes or no. Null where the run is over before. */
export async function insist(asker: Asker, act: Act | null, ask: Ask): Promise<Told | null> {
  const { members, history, random, signal } = asker
  while (!signal.aborted) {
    const member = random.pick(members)
    if (act !== null) act.tries += 1
    const told = await askOnce(member, asker.name, ask)
    if (told !== null && told.status < 500) {
      if (act !== null) act.told = told
      return told
    }
    // A node that stops says so with 503, and so does one without its database.
    if (told !== null && told.status !== 503)
      history.odd.push(
        `${ask.path} answered ${told.status} at ${told.node}: ${JSON.stringify(told.body).slice(0, 300)}`,
      )
    history.retries += 1
    await pause(retryMs, signal)
  }
  return null
}

type Deed = (lane: Lane, n: number) => Promise<void>

const callOf =
  (agent: string): Deed =>
  async (lane, n) => {
    const key = `${agent} ${lane.name} ${n}`
    const act = lane.history.begin('call', key, agent, key)
    const body = { agent, task: key, timeout_seconds: 12, max_tokens: 4000, allow_nested_calls: true }
    await insist(lane, act, { method: 'POST', path: '/api/calls', body, key })
  }

const message: Deed = async (lane, n) => {
  const id = `mail-${lane.name}-${n}`
  const session = lane.random.pick(lane.sessions)
  const delivery = lane.random.chance(30) ? 'buffer' : 'auto'
  const act = lane.history.begin('message', id, session, `letter ${id}`)
  const body = { message: `letter ${id}`, messageId: id, delivery }
  await insist(lane, act, { method: 'POST', path: `/api/sessions/${session}/messages`, body })
}

const stamp: Deed = async (lane, n) => {
  const id = `stamp-${lane.name}-${n}`
  const session = lane.random.pick(lane.stampers)
  const act = lane.history.begin('message', id, session, `letter ${id}`)
  const body = { message: `letter ${id}`, messageId: id }
  await insist(lane, act, { method: 'POST', path: `/api/sessions/${session}/messages`, body })
}

const session: Deed = async (lane, n) => {
  const key = `session ${lane.name} ${n}`
  const act = lane.history.begin('session', key, '', key)
  const body = { cwd: lane.cwd, agent: 'clerk', title: key }
  await insist(lane, act, { method: 'POST', path: '/api/sessions', body, key })
}

/** Written at one node, changed at another, sent at a third. */
const draft: Deed = async (lane, n) => {
  const id = `draft-${lane.name}-${n}`
  const to = lane.random.pick(lane.sessions)
  const written = lane.history.begin('draft', id, to, `draft ${id}`)
  const body = { id, message: `draft ${id}`, draft: true, session: to }
  if ((await insist(lane, written, { method: 'POST', path: '/api/messages', body }))?.status !== 201) return
  if (lane.random.chance(60)) {
    const text = `draft ${id}, revised`
    const revised = lane.history.begin('revision', id, to, text)
    await insist(lane, revised, { method: 'PATCH', path: `/api/messages/${id}`, body: { message: text } })
  }
  if (!lane.random.chance(70)) return
  const sent = lane.history.begin('release', id, to, id)
  await insist(lane, sent, { method: 'POST', path: `/api/messages/${id}/release`, body: {} })
}

const turn: Deed = async (lane, n) => {
  const key = `turn ${lane.name} ${n}`
  const act = lane.history.begin('turn', key, 'clerk', key)
  const body = { content: key }
  await insist(lane, act, { method: 'POST', path: '/v1/agents/clerk/messages', body, key })
}

/** A turn that nobody ends by itself is begun at one node and cancelled at another, and waited for at a third. */
const cancel: Deed = async (lane, n) => {
  const id = `sleep-${lane.name}-${n}`
  const to = lane.random.pick(lane.sleepers)
  const begun = lane.history.begin('message', id, to, `letter ${id}`)
  const body = { message: `letter ${id}`, messageId: id }
  const path = `/api/sessions/${to}`
  const told = await insist(lane, begun, { method: 'POST', path: `${path}/messages`, body })
  const turnId = told?.status === 202 ? told.body['turn'] : null
  if (typeof turnId !== 'string') return
  const act = lane.history.begin('cancel', turnId, to, id)
  await insist(lane, act, { method: 'POST', path: `${path}/cancel`, body: { turn: turnId } })
  const waited = lane.history.begin('wait', turnId, to, id)
  await insist(lane, waited, { method: 'GET', path: `${path}/wait?timeoutMs=5000` })
}

/** Three roots at once whose agents each call the next: they would wait for each other in a ring. */
const ring: Deed = async (lane, n) => {
  await Promise.all(
    ['left', 'right', 'middle'].map(async (agent) => {
      const key = `ring ${agent} ${lane.name} ${n}`
      const act = lane.history.begin('ring', key, agent, key)
      const body = { content: key }
      await insist(lane, act, { method: 'POST', path: `/v1/agents/${agent}/messages`, body, key })
    }),
  )
}

const deeds: readonly Deed[] = [
  message,
  callOf('clerk'),
  stamp,
  callOf('relay'),
  draft,
  message,
  callOf('deep'),
  session,
  cancel,
  turn,
  stamp,
  ring,
]

export async function runLane(lane: Lane): Promise<void> {
  for (let n = 0; !lane.signal.aborted; n += 1) {
    await lane.random.pick(deeds)(lane, n)
    await pause(restMs, lane.signal)
  }
}
