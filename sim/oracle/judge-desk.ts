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

/** What it is asked about: the session that was picked, the names of drafts, the question, once it is known. */
export type DeskAsk = {
  act: DeskAct
  /** Its id: a second try has the same. */
  name: string
  picked: (n: number) => string
  draft: (n: number) => string
  question: () => string | null
}
type State = { ledger: Ledger; facts: Facts; queuedMax: number; agentsMax: number; hiringBeside: number }
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

/** Thrown away, or delivered to a turn that was cancelled before it began: it was never read. */
export function isDeclined({ ledger, facts }: Pick<State, 'ledger' | 'facts'>, id: string): boolean {
  const opened = facts.openedBy.get(id)
  const turn = opened === undefined ? undefined : ledger.turns.get(opened)
  return facts.declined.has(id) || (turn?.state === 'ended' && turn.epoch === 0)
}

/** What is with that id: nothing, a draft, what was made of it. */
function findMail({ ledger, facts }: State, id: string): 'none' | 'draft' | 'declined' | 'waiting' | 'taken' {
  const letter = ledger.mail.get(id)
  if (isDeclined({ ledger, facts }, id)) return 'declined'
  if (letter !== undefined) return letter.state === 'waiting' ? 'waiting' : 'taken'
  return facts.drafts.has(id) ? 'draft' : 'none'
}

/** A draft can be changed by its owner and by a person. */
function judgeChange(state: State, id: string, by: SessionId | null): string[] {
  const found = findMail(state, id)
  if (found === 'none') return ['message_unknown']
  if (by !== null && state.facts.drafts.get(id) !== by) return ['message_not_yours']
  return [found === 'draft' ? 'done' : 'message_already_sent']
}

const judges: { readonly [K in (typeof deskDeeds)[number]]: Judge } = {
  create({ facts }, { act: { a, b }, name, picked }) {
    if (nameAgent(a % 7) === 'ghost') return ['agent_unknown']
    const parent = b % 3 === 0 ? (picked(b) as SessionId) : null
    // One that was deleted can come back, and may have sessions below it.
    if (parent !== null && !facts.sessions.has(parent)) return ['session_unknown']
    const before = facts.madeBelow.get(`ses_${name}`)
    return before === undefined || before === parent ? ['done'] : ['bad_input']
  },
  // With nothing said yet, nobody can go back.
  fork: (state, { act }) => ifThere(state, main(act.a), act.b % 3 === 0 ? ['done'] : ['done', 'bad_input']),
  archive: ({ facts }, { act, picked }) =>
    facts.sessions.has(picked(act.a) as SessionId) ? ['done'] : ['session_unknown'],
  rename: (state, { act, picked }) => ifThere(state, picked(act.a), ['done']),
  adopt(state, { act: { a, b }, picked }) {
    const [own, parent] = [picked(a), b % 4 === 0 ? null : picked(b)]
    const { sessions, deleted, parents } = state.facts
    if (!sessions.has(own as SessionId)) return ['session_unknown']
    // Somebody below it cannot be above it. One that is put away is found first.
    let above = parent as SessionId | null
    for (let steps = 0; above !== null && above !== own && steps < 100; steps += 1)
      above = parents.get(above) ?? null
    const isUnknown = parent !== null && parent !== own && deleted.has(parent as SessionId)
    return [isUnknown ? 'session_unknown' : above === own ? 'bad_input' : 'done']
  },
  cancel: (state, { act }) => ifThere(state, main(act.a), ['done']),
  say(state, { act, picked }) {
    const session = act.b % 2 === 0 ? client(act.a) : (picked(act.a) as SessionId)
    const known = state.ledger.mail.get(`said-${act.b}`)
    if (known !== undefined)
      return [known.text === say(act) && known.to === session ? 'done' : 'message_already_sent']
    return ifThere(state, session, [act.b % 3 === 0 ? 'done' : takesInput(state, session)])
  },
  insist(state, { act, name }) {
    const session = main(act.a)
    // Tried again with its id, it is what it was.
    if (state.ledger.mail.get(name) !== undefined) return ['done']
    const isBusy = state.ledger.listLive(session).size > 0
    const full = takesInput(state, session) === 'queue_full' ? ['queue_full'] : []
    return ifThere(state, session, isBusy ? [...full, 'session_busy'] : ['done'])
  },
  shout: () => ['too_large'],
  look: (_, { act }) => (act.a % 2 === 0 ? ['session_ambiguous'] : ['call_unknown']),
  draft(state, { act, draft }) {
    const found = judgeChange(state, draft(act.b % 3), client(act.a))
    return found[0] === 'message_unknown' ? ['done'] : found
  },
  revise: (state, { act, draft }) => judgeChange(state, draft(act.a % 3), null),
  release(state, { act, draft }) {
    const id = draft(act.a % 3)
    const found = findMail(state, id)
    if (found === 'none') return ['message_unknown']
    const target = state.facts.draftTargets.get(id) ?? null
    return found === 'draft' && target !== null && isGone(state, target) ? ['session_unknown'] : ['done']
  },
  // Only a draft can have been changed.
  releaseStale(state, { act, draft }) {
    const found = findMail(state, draft(act.a % 3))
    return [found === 'none' ? 'message_unknown' : found === 'draft' ? 'message_changed' : 'done']
  },
  decline(state, { act: { a, b }, draft }) {
    const found = findMail(state, b % 2 === 0 ? draft(a % 3) : mailId(a % 8))
    return [found === 'none' ? 'message_unknown' : found === 'taken' ? 'message_taken' : 'done']
  },
  steal: (state, { act, draft }) => judgeChange(state, draft(act.b % 3), client(act.a)),
  take(state, { act: { a, b }, name }) {
    const session = b % 2 === 0 ? client(a) : main(a)
    const waiting = state.ledger.mail.waiting.filter(({ to }) => to === session)
    if (state.ledger.mail.acts.has(name)) return ['done']
    if (isGone(state, session)) return ['session_unknown']
    if (b % 3 === 0) {
      const letter = state.ledger.mail.get(mailId(a))
      if (letter?.to !== session) return ['message_unknown']
      if (letter.state !== 'waiting') return ['message_taken']
    } else if (waiting.length === 0) return ['done']
    return [b % 2 === 0 ? 'done' : takesInput(state, session)]
  },
  hire({ facts, agentsMax, hiringBeside }, { act: { a, b } }) {
    // The same id again: the same agent, or another one, for which it cannot be used.
    const name = nameHired(a, b)
    if (facts.hired.has(name))
      return [
        'done',
        'bad_input',
        ...(facts.agent(name) === undefined ? ['agent_unknown', 'too_many_agents'] : []),
      ]
    if (facts.madeCount >= agentsMax) return ['too_many_agents']
    // Those that are being made count as well.
    return facts.madeCount + hiringBeside < agentsMax ? ['done'] : ['done', 'too_many_agents']
  },
  dismiss({ facts }, { act: { a, b } }) {
    return facts.agent(nameHired(a, b)) === undefined ? ['agent_unknown', 'done'] : ['done']
  },
  // One that is not over cannot be seen; one that is not there is no refusal.
  see: (_, { act }) => (act.a % 4 === 0 ? ['done'] : ['done', 'bad_input']),
  // The same answer again is no refusal; who answered what is not asked here.
  answer({ facts, ledger }, { question }) {
    const id = question()
    const asked = id === null ? undefined : facts.questions.get(id)
    if (id === null) return []
    if (asked === undefined) return ['question_unknown']
    if (asked.isAnswered) return ['done', 'question_answered']
    return [asked.turn !== null && ledger.turn(asked.turn).state === 'running' ? 'done' : 'call_ended']
  },
}

export const judgeDesk = (state: State, ask: DeskAsk): string[] => judges[ask.act.do](state, ask)
