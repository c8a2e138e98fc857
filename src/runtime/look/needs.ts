/**
 * Everything that waits for a person, newest first: enough of each to say yes safely without opening anything
 * else.
 */
import { dirname } from 'node:path'
import type { EventOf } from '../../model/event.ts'
import type { MessageFacts } from '../../model/facts.ts'
import type { FlowId, SessionId } from '../../model/id.ts'
import { millisToNanos, userSession } from '../../model/mail.ts'
import { isFailure, nameText, readTask } from '../../model/request-name.ts'
import { whyUntrusted, type UntrustedProject } from '../../model/untrusted.ts'
import type { FlowSummary } from '../../wire/flows.ts'
import type { Need, Needs } from '../../wire/needs.ts'
import { mapGently } from '../kernel/gently.ts'
import { listFlows, nameAsker, readLastWords, readRoot, toRootTurn } from './flows.ts'
import type { Runtime } from './runtime.ts'
import { displayAgent } from './state.ts'

/** R11: of each kind the newest. */
const perKindMax = 100
/** Failures that nobody looked at for so long are history. */
const failureAgeMs = 7 * 24 * 3_600_000

const nothing: Need = {
  kind: 'question',
  id: '',
  at: 0,
  title: '',
  agent: '',
  session: null,
  turn: null,
  flow: null,
  cwd: '',
  task: '',
  request: '',
  path: [],
  lastWords: '',
  tool: null,
  input: null,
  text: '',
  to: null,
  version: null,
  outcome: null,
  deadline: null,
  acts: [],
}

export async function listNeeds(runtime: Runtime): Promise<Needs> {
  const questions = (await runtime.lists.openQuestions()).flatMap(({ event, at }) =>
    event.type === 'question.asked' ? [{ event, at }] : [],
  )
  const all = [
    ...(await mapGently(runtime, questions.slice(-perKindMax), ({ event, at }) =>
      toQuestion(runtime, event, at),
    )),
    ...(await listDrafts(runtime)),
    ...(await listMail(runtime)),
    ...(await listFailures(runtime)),
    ...listUntrusted(runtime).map(toProject),
  ]
  const needs = all.toSorted((a, b) => b.at - a.at)
  return { needs, total: needs.length + Math.max(0, questions.length - perKindMax) }
}

const listUntrusted = ({ agents, projects }: Runtime): readonly UntrustedProject[] =>
  projects === undefined
    ? (agents.untrusted?.() ?? [])
    : projects
        .list()
        .flatMap(({ state, file, problem, agents: named }) =>
          state === 'used' ? [] : [{ file, state, problem, agents: named.map(({ name }) => name) }],
        )

async function toQuestion(runtime: Runtime, event: EventOf<'question.asked'>, at: number): Promise<Need> {
  const { question, session, turn, flow, agent, tool, input, path, deadline } = event
  const row = turn === null ? null : await runtime.store.turn(turn)
  const name = runtime.agents.get(agent)?.title ?? agent
  return {
    ...nothing,
    id: question,
    at,
    title: `${name} wants to run ${tool}`,
    agent: name,
    session,
    turn,
    flow,
    ...(await placeOf(runtime, session)),
    task: row === null ? '' : await readTurnTask(runtime, row.openedSeq),
    request: await readRequest(runtime, flow),
    path: await namePath(runtime, path, flow),
    lastWords: row === null ? '' : await readLastWords(runtime, row),
    tool,
    input,
    deadline,
    acts: ['allow', 'allow_session', 'deny'],
  }
}

const placeOf = async (runtime: Runtime, session: SessionId): Promise<{ cwd: string }> => ({
  cwd: (await runtime.store.session(session))?.cwd ?? '',
})

async function readTurnTask({ store }: Runtime, openedSeq: number): Promise<string> {
  const opened = (await store.event(openedSeq))?.event
  return opened?.type === 'call.opened'
    ? opened.task
    : opened?.type === 'message.sent' || opened?.type === 'message.delivered'
      ? opened.text
      : ''
}

async function readRequest(runtime: Runtime, flow: FlowId): Promise<string> {
  const root = await readRoot(runtime, toRootTurn(flow))
  return root === null ? '' : readTask(root.event, root.isClient)
}

/** Who asked comes first. A client's session at the root goes by the name of its program. */
async function namePath(runtime: Runtime, path: readonly string[], flow: FlowId): Promise<string[]> {
  const root = await readRoot(runtime, toRootTurn(flow))
  const below = root?.isClient === true ? path.slice(1) : path
  return [
    ...(root === null ? [] : [nameAsker(runtime, root)]),
    ...below.map((agent) => runtime.agents.get(agent)?.title ?? agent),
  ]
}

async function nameSide(runtime: Runtime, session: SessionId | null): Promise<string> {
  if (session === null || session === userSession) return 'you'
  const row = await runtime.store.session(session)
  if (row === null) return session
  return row.title === ''
    ? displayAgent(runtime, row)
    : `${displayAgent(runtime, row)} (${nameText(row.title)})`
}

/** What agents wrote and a person has to send; the user's own drafts wait for nobody. */
async function listDrafts(runtime: Runtime): Promise<Need[]> {
  const { messages } = await runtime.lists.mail.drafts(null, null, perKindMax)
  const theirs = messages.filter(({ owner }) => owner !== userSession)
  return mapGently(runtime, theirs, async (draft) => ({
    ...(await toLetter(runtime, draft)),
    kind: 'draft' as const,
    title: `${await nameSide(runtime, draft.owner)} wants to write to ${await nameTarget(runtime, draft)}`,
    to: await nameTarget(runtime, draft),
    version: millisToNanos(draft.updatedAt, draft.updatedSeq),
    acts: ['release' as const, 'decline' as const],
  }))
}

const nameTarget = async (runtime: Runtime, { target, to }: MessageFacts): Promise<string> =>
  to !== null
    ? nameSide(runtime, to)
    : target.kind === 'session'
      ? nameSide(runtime, target.session)
      : target.kind === 'fork'
        ? 'a fork of itself'
        : 'a new session'

async function listMail(runtime: Runtime): Promise<Need[]> {
  const ask = { replies: null, newest: true, limit: perKindMax }
  const { messages } = await runtime.lists.mail.inbox(userSession, ask)
  return mapGently(runtime, messages, async (letter) => ({
    ...(await toLetter(runtime, letter)),
    kind: 'mail' as const,
    title: `${await nameSide(runtime, letter.from)} writes to you`,
    acts: ['accept' as const, 'reply' as const, 'decline' as const],
  }))
}

async function toLetter(runtime: Runtime, letter: MessageFacts): Promise<Need> {
  const by = letter.from ?? letter.owner
  const row = await runtime.store.session(by)
  const turn = letter.writtenIn === null ? null : await runtime.store.turn(letter.writtenIn)
  return {
    ...nothing,
    id: letter.id,
    at: letter.updatedAt,
    agent: row === null ? '' : displayAgent(runtime, row),
    session: by,
    turn: letter.writtenIn,
    flow: turn?.flow ?? letter.sent?.flow ?? null,
    cwd: row?.cwd ?? '',
    task: turn === null ? '' : await readTurnTask(runtime, turn.openedSeq),
    request: turn === null ? '' : await readRequest(runtime, turn.flow),
    path:
      turn === null
        ? []
        : await namePath(
            runtime,
            turn.grant.path.map(({ agent }) => agent),
            turn.flow,
          ),
    text: letter.text,
  }
}

async function listFailures(runtime: Runtime): Promise<Need[]> {
  const { flows } = await listFlows(runtime, { state: 'unseen', limit: perKindMax, before: null })
  const since = runtime.clock.now() - failureAgeMs
  return flows.filter((flow) => isFailure(flow.outcome) && flow.openedAt >= since).map(toFailure)
}

const toFailure = (flow: FlowSummary): Need => ({
  ...nothing,
  kind: 'failure',
  id: flow.flow,
  at: flow.endedAt ?? flow.openedAt,
  title: `${flow.title === '' ? 'A request' : flow.title}: ${(flow.outcome ?? '').replaceAll('_', ' ')}`,
  agent: flow.agent,
  session: flow.session,
  turn: flow.turn,
  flow: flow.flow,
  cwd: flow.cwd,
  task: flow.task,
  request: flow.task,
  path: [flow.askedBy, ...(flow.agent === '' ? [] : [flow.agent])],
  lastWords: flow.lastWords,
  text: flow.error ?? '',
  outcome: flow.outcome,
  acts: ['seen'],
})

/** It is always the newest: nothing of it works before. Exported for its test. */
export const toProject = ({ file, state, agents, problem }: UntrustedProject): Need => ({
  ...nothing,
  kind: 'project',
  id: dirname(file),
  at: Number.MAX_SAFE_INTEGER,
  title: `${file} is not used: ${whyUntrusted[state]}`,
  cwd: dirname(file),
  text: [
    ...(agents.length === 0 ? [] : [`It would define ${agents.join(', ')}.`]),
    ...(state === 'broken'
      ? [problem ?? '', 'Correct it. It counts from the next call on.']
      : [`"tieline trust ${dirname(file)}" shows what it could do, and asks.`]),
  ].join('\n'),
  acts: state === 'broken' ? [] : ['trust'],
})
