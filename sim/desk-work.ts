/** Plays what people and programs ask for at the desk of a node. Each answer is a value or a refusal. */
import type { SessionId } from '../src/model/id.ts'
import { isRefusal, type Refusal } from '../src/model/refusal.ts'
import type { Desk, Desks } from '../src/runtime/desk/desk.ts'
import { getMainSession, nameAgent } from './agents.ts'
import type { DeskAct, deskDeeds } from './desk-acts.ts'
import { writeTask } from './driver.ts'
import { clientSessions, mailId } from './mail-work.ts'

/** Sessions that were opened at the desk in this world, in their order. */
export type Opened = string[]
type Answer = object | Refusal
/** What it does becomes known while it is done. */
export type Doing = { question: string | null }
type Deed = (desk: Desk, act: DeskAct, opened: Opened, desks: Desks, doing: Doing) => Promise<Answer>

export const draftId = (n: number): string => `draft-${n}`
const main = (n: number): string => getMainSession(nameAgent(n % 4))
/** One that was opened here, or a main session while there is none. */
export const pick = (opened: Opened, n: number): string => opened[n % Math.max(1, opened.length)] ?? main(n)
const say = (act: DeskAct): string => writeTask(9, `desk ${act.a} ${act.b}`)

async function open(opened: Opened, answer: Promise<Answer>): Promise<Answer> {
  const made = await answer
  const { sessionId } = made as { sessionId?: string }
  if (!isRefusal(made) && sessionId !== undefined && !opened.includes(sessionId)) opened.push(sessionId)
  return made
}

const client = (n: number): SessionId => clientSessions[n % clientSessions.length] ?? 'ses_out-0'

/** As a program that acts through one of the external sessions. */
const asClient = (desks: Desks, n: number): Desk => desks.as({ who: { kind: 'session', session: client(n) } })

const deeds: { readonly [K in (typeof deskDeeds)[number]]: Deed } = {
  create: (desk, { a, b }, opened) =>
    open(
      opened,
      desk.sessions.create({
        cwd: '/',
        agent: nameAgent(a % 7),
        title: `made ${b}`,
        ...(b % 2 === 0 && { initialMessage: writeTask(9, `made ${b}`) }),
        ...(b % 3 === 0 && { parent: pick(opened, b) }),
      }),
    ),
  fork: (desk, { a, b }, opened) => open(opened, desk.sessions.fork(main(a), { back: b % 3 })),
  archive: (desk, { a }, opened) => desk.sessions.archive(pick(opened, a)),
  rename: (desk, { a, b }, opened) => desk.sessions.rename(pick(opened, a), `title ${b}`),
  adopt: (desk, { a, b }, opened) =>
    desk.sessions.adopt(pick(opened, a), b % 4 === 0 ? null : pick(opened, b)),
  cancel: (desk, { a, b }) => desk.sessions.cancel(main(a), { all: b % 2 === 0 }),
  // Sometimes to a program outside, which has to take it.
  say: (desk, act, opened) =>
    desk.sessions.send(act.b % 2 === 0 ? client(act.a) : pick(opened, act.a), {
      message: say(act),
      delivery: act.b % 3 === 0 ? 'buffer' : 'auto',
      messageId: `said-${act.b}`,
    }),
  insist: (desk, act) => desk.sessions.send(main(act.a), { message: say(act), delivery: 'now' }),
  shout: (desk, act) =>
    desk.sessions.send(main(act.a), { message: `${say(act)} ${'loud '.repeat(2000)}`, delivery: 'auto' }),
  // Part of an id that fits several sessions, or a call that nobody made.
  look: (desk, { a }) => (a % 2 === 0 ? desk.sessions.get('ses_main') : desk.calls.get(`call_none-${a}`)),
  draft: (_, act, __, desks) =>
    asClient(desks, act.a).mail.send({
      session: main(act.b),
      message: say(act),
      id: draftId(act.b % 3),
      draft: true,
    }),
  revise: (desk, act) => desk.mail.revise(draftId(act.a % 3), { message: `${say(act)} revised` }),
  release: (desk, { a }) => desk.mail.release(draftId(a % 3)),
  // Read long ago.
  releaseStale: (desk, { a }) => desk.mail.release(draftId(a % 3), { ifUpdatedAt: '1800000000000000001' }),
  decline: (desk, { a, b }) => desk.mail.decline(b % 2 === 0 ? draftId(a % 3) : mailId(a % 8)),
  // A program changes what another one has drafted.
  steal: (_, act, __, desks) =>
    asClient(desks, act.a).mail.revise(draftId(act.b % 3), { message: `${say(act)} stolen` }),
  take: (desk, { a, b }) =>
    desk.mail.accept(b % 2 === 0 ? client(a) : main(a), b % 3 === 0 ? mailId(a) : 'oldest'),
  hire: (desk, { a }) =>
    desk.agents.create({
      name: `hired ${a}`,
      system: 'You do what you are told.',
      description: '',
      model: null,
      tools: ['note'],
    }),
  dismiss: (desk, { a, b }) => desk.agents.delete(`agent_desk-${a % 3}-${b % 2}`),
  async answer(desk, { a, b }, _, __, doing) {
    const list = await desk.questions.list()
    if (isRefusal(list)) return list
    const question = list.questions[a % Math.max(1, list.questions.length)]?.id ?? `question_none-${a}`
    doing.question = question
    const first = await desk.questions.answer(question, {
      answer: b % 3 === 0 ? 'deny' : 'allow',
      ...(b % 5 === 0 && { reason: `because of ${b}` }),
      ...(b % 7 === 0 && { scope: 'session' }),
    })
    // Somebody else answers too, and not the same.
    return b % 2 === 0 ? first : desk.questions.answer(question, { answer: b % 3 === 0 ? 'allow' : 'deny' })
  },
  // The newest request, or one that is not there, twice.
  async see(desk, { a }) {
    const flow = a % 4 === 0 ? `flow_none-${a}` : await desk.log.findFlow('last')
    const id = typeof flow === 'string' ? flow : flow !== null && !isRefusal(flow) ? flow.id : 'flow_none'
    await desk.log.see(id)
    return (await desk.log.see(id)) ?? {}
  },
}

/** The id of an act, so that a second try has no second effect. */
export const nameAct = ({ do: deed, a, b }: DeskAct): string =>
  deed === 'hire' ? `desk-${a % 3}-${b % 2}` : `desk-${deed}-${a}-${b}`

/** Says what became of it: the code of its refusal, or `done`. */
export async function playDesk(desks: Desks, act: DeskAct, opened: Opened, doing: Doing): Promise<string> {
  const answer = await deeds[act.do](desks.as({ act: nameAct(act) }), act, opened, desks, doing)
  return isRefusal(answer) ? answer.code : 'done'
}
