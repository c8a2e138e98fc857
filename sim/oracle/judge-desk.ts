/**
 * O1 at the desk: what people and programs ask for there, and what may become of it in the present state. A
 * program and a person differ only where one changes what the other has drafted.
 */
import { getMainSession, nameAgent } from '../agents.ts'
import type { DeskAct, deskDeeds } from '../desk-acts.ts'
import type { SessionId } from '../../src/model/id.ts'
import { writeTask } from '../driver.ts'
import { clientSessions, mailId } from '../mail-work.ts'
import type { Ledger } from '../ledger.ts'
import type { Facts } from './facts.ts'

/** What it is asked about: the session that was picked, and the names of drafts. */
export type DeskAsk = { act: DeskAct; picked: (n: number) => string; draft: (n: number) => string }
type State = { ledger: Ledger; facts: Facts; queuedMax: number; agentsMax: number }
type Judge = (state: State, ask: DeskAsk) => string[]

const main = (n: number): SessionId => getMainSession(nameAgent(n % 4))
const client = (n: number): SessionId => clientSessions[n % clientSessions.length] ?? 'ses_out-0'

const isGone = ({ facts }: State, session: string): boolean =>
  !facts.sessions.has(session as SessionId) || facts.deleted.has(session as SessionId)
const ifThere = (state: State, session: string, answers: string[]): string[] =>
  isGone(state, session) ? ['session_unknown'] : answers
const takesInput = ({ ledger, queuedMax }: State, session: SessionId): string =>
  ledger.countQueued(session) < queuedMax ? 'done' : 'queue_full'

const say = ({ a, b }: DeskAct): string => writeTask(9, `desk ${a} ${b}`)
const nameHired = (a: number, b: number): string => `agent_desk-${a % 3}-${b % 2}`

/** A draft is there, was sent or thrown away, or never was. */
function judgeDraft({ ledger, facts }: State, id: string, answers: string[]): string[] {
  const known = facts.drafts.has(id) || ledger.mail.get(id) !== undefined
  if (!known) return ['message_unknown']
  return [...answers, 'message_already_sent', 'message_taken', 'message_unknown', 'done']
}

const judges: { readonly [K in (typeof deskDeeds)[number]]: Judge } = {
  create(state, { act: { a, b }, picked }) {
    if (nameAgent(a % 7) === 'ghost') return ['agent_unknown']
    // One that was deleted can come back, and may have sessions below it.
    return b % 3 === 0 && !state.facts.sessions.has(picked(b) as SessionId) ? ['session_unknown'] : ['done']
  },
  fork: (state, { act }) => ifThere(state, main(act.a), ['done', 'bad_input', 'session_busy']),
  archive: ({ facts }, { act, picked }) =>
    facts.sessions.has(picked(act.a) as SessionId) ? ['done'] : ['session_unknown'],
  rename: (state, { act, picked }) => ifThere(state, picked(act.a), ['done']),
  adopt(state, { act: { a, b }, picked }) {
    const parent = b % 4 === 0 ? null : picked(b)
    const wrong = parent !== null && (isGone(state, parent) || parent === picked(a))
    // Somebody below it cannot be above it.
    return wrong || isGone(state, picked(a))
      ? ['session_unknown', 'bad_input', 'done']
      : ['done', 'bad_input']
  },
  cancel: (state, { act }) => ifThere(state, main(act.a), ['done']),
  say(state, { act, picked }) {
    const session = act.b % 2 === 0 ? client(act.a) : (picked(act.a) as SessionId)
    const known = state.ledger.mail.get(`said-${act.b}`)
    if (known !== undefined) return ['done', 'message_already_sent', 'message_not_yours']
    return ifThere(state, session, [act.b % 3 === 0 ? 'done' : takesInput(state, session)])
  },
  insist(state, { act }) {
    const session = main(act.a)
    // Tried again with its id, it is what it was.
    const before = [...state.ledger.mail.letters.values()].some(({ text }) => text === say(act))
    const again = before ? ['done', 'message_already_sent'] : []
    const isBusy = state.ledger.listLive(session).size > 0
    const full = takesInput(state, session) === 'queue_full' ? ['queue_full'] : []
    return [...again, ...ifThere(state, session, isBusy ? [...full, 'session_busy'] : ['done'])]
  },
  shout: () => ['too_large'],
  look: (_, { act }) => (act.a % 2 === 0 ? ['session_ambiguous'] : ['call_unknown']),
  draft(state, { act, draft }) {
    const id = draft(act.b % 3)
    const owner = state.facts.drafts.get(id)
    if (owner === undefined) return ['done']
    return owner === client(act.a) ? ['done', 'message_already_sent'] : ['message_not_yours']
  },
  revise: (state, { act, draft }) => judgeDraft(state, draft(act.a % 3), ['done']),
  release: (state, { act, draft }) =>
    judgeDraft(state, draft(act.a % 3), ['done', 'session_unknown', 'queue_full']),
  releaseStale: (state, { act, draft }) => judgeDraft(state, draft(act.a % 3), ['message_changed']),
  decline(state, { act: { a, b }, draft }) {
    const id = b % 2 === 0 ? draft(a % 3) : mailId(a % 8)
    return judgeDraft(state, id, ['done', 'message_taken'])
  },
  steal(state, { act, draft }) {
    const owner = state.facts.drafts.get(draft(act.b % 3))
    if (owner === undefined) return ['message_unknown']
    return owner === client(act.a) ? ['done', 'message_already_sent'] : ['message_not_yours']
  },
  take(state, { act: { a, b } }) {
    const session = b % 2 === 0 ? client(a) : main(a)
    const id = mailId(a)
    const letter = state.ledger.mail.get(id)
    if (b % 3 === 0 && letter?.to !== session) return ['message_unknown', 'done']
    if (b % 3 === 0 && letter?.state !== 'waiting') return ['message_taken', 'done']
    return ['done', ...(isGone(state, session) ? ['session_unknown'] : []), takesInput(state, session)]
  },
  hire({ facts, agentsMax }, { act: { a, b } }) {
    // The same id again: the same agent, or another one, for which it cannot be used.
    const name = nameHired(a, b)
    if (facts.hired.has(name))
      return [
        'done',
        'bad_input',
        ...(facts.agent(name) === undefined ? ['agent_unknown', 'too_many_agents'] : []),
      ]
    // One that is being made counts as well.
    if (facts.madeCount >= agentsMax) return ['too_many_agents']
    return facts.madeCount + 1 < agentsMax ? ['done'] : ['done', 'too_many_agents']
  },
  dismiss({ facts }, { act: { a, b } }) {
    return facts.agent(nameHired(a, b)) === undefined ? ['agent_unknown', 'done'] : ['done']
  },
  // One that is not over cannot be seen; one that is not there is no refusal.
  see: (_, { act }) => (act.a % 4 === 0 ? ['done'] : ['done', 'bad_input']),
  answer({ facts }) {
    const asked = [...facts.questions.values()]
    const answered = asked.includes('answered') ? ['question_answered'] : []
    return ['done', 'question_unknown', ...answered]
  },
}

export const judgeDesk = (state: State, ask: DeskAsk): string[] => judges[ask.act.do](state, ask)
