/**
 * Work as honest clients do it while the attacks go on: each act has an id or a key, is tried again until
 * somebody says yes, and is then in the ledger.
 */
import type { Random } from '../sim/random.ts'
import { pause } from './attack.ts'
import type { Ledger } from './ledger.ts'
import type { Victim } from './victim.ts'

export type Loading = {
  victim: Victim
  ledger: Ledger
  cwd: string
  random: Random
  signal: AbortSignal
  sessions: readonly string[]
}

type Answer = { status: number; body: Record<string, unknown> }
const tryMsMax = 20_000
const retryMs = 150
const restMs = 60

async function once(
  url: string,
  path: string,
  body: object,
  headers: Record<string, string>,
): Promise<Answer | null> {
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(tryMsMax),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  } catch {
    // Nobody knows what became of it: the next try finds out.
    return null
  }
}

/** Until it is acknowledged or refused. Null where the run is over before. */
export async function insist(
  { victim, ledger, signal }: Pick<Loading, 'victim' | 'ledger' | 'signal'>,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Answer | null> {
  while (!signal.aborted) {
    await Promise.race([victim.up, pause(1000, signal)])
    const answer = await once(victim.url, path, body, headers)
    if (answer !== null && answer.status < 500) return answer
    if (answer !== null && answer.status !== 503)
      ledger.odd.push(`${path} answered ${answer.status}: ${JSON.stringify(answer.body).slice(0, 200)}`)
    ledger.retries += 1
    await pause(retryMs, signal)
  }
  return null
}

type Act = (loading: Loading, n: number, lane: number) => Promise<void>

const message: Act = async (loading, n, lane) => {
  const { random, sessions, ledger } = loading
  const id = `load-${lane}-${n}`
  const session = sessions[random.below(sessions.length)] ?? ''
  const answer = await insist(loading, `/api/sessions/${session}/messages`, {
    message: `letter ${id}`,
    messageId: id,
  })
  if (answer?.status === 202) ledger.messages.set(id, session)
}

const call: Act = async (loading, n, lane) => {
  const key = `call ${lane} ${n}`
  const body = { agent: n % 3 === 0 ? 'relay' : 'clerk', task: `work ${key}`, timeout_seconds: 15 }
  const answer = await insist(loading, '/api/calls', body, { 'idempotency-key': key })
  if (answer?.status === 200)
    loading.ledger.calls.set(key, {
      body,
      call: String(answer.body['call_id']),
      outcome: String(answer.body['outcome']),
    })
}

const session: Act = async (loading, n, lane) => {
  const key = `session ${lane} ${n}`
  const answer = await insist(
    loading,
    '/api/sessions',
    { cwd: loading.cwd, agent: 'clerk', title: key },
    { 'idempotency-key': key },
  )
  if (answer?.status === 201) loading.ledger.sessions.set(key, String(answer.body['sessionId']))
}

const draft: Act = async (loading, n, lane) => {
  const id = `draft-${lane}-${n}`
  const answer = await insist(loading, '/api/messages', {
    id,
    message: `draft ${id}`,
    draft: true,
    session: loading.sessions[0] ?? '',
  })
  if (answer !== null && answer.status < 300) loading.ledger.drafts.add(id)
}

const turn: Act = async (loading, n, lane) => {
  const key = `turn ${lane} ${n}`
  const answer = await insist(
    loading,
    '/v1/agents/echo/messages',
    { content: `say ${key}` },
    { 'idempotency-key': key },
  )
  if (answer?.status === 200) loading.ledger.turns.add(`say ${key}`)
}

const acts: readonly Act[] = [message, call, message, call, turn, session, message, call, draft]

export async function runLane(loading: Loading, lane: number): Promise<void> {
  for (let n = 0; !loading.signal.aborted; n += 1) {
    await acts[(n + lane) % acts.length]?.(loading, n, lane)
    await pause(restMs, loading.signal)
  }
}
