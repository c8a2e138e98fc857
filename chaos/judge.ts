/** What a run has shown: one line for each law, with how often it was tried. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Event, EventOf } from '../src/model/event.ts'
import { askOnce } from './clients.ts'
import type { Act, History, Told } from './history.ts'
import type { Member } from './member.ts'
import type { Row } from './read-log.ts'
import { leftOver, replayLaws } from './replay-laws.ts'
import { effectsFile, type Effect } from './scene.ts'

export type Line = { law: string; tried: number; problems: readonly string[] }

const typed = <T extends Event['type']>(events: readonly Event[], type: T): EventOf<T>[] =>
  events.filter((event): event is EventOf<T> => event.type === type)

const count = (names: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

type Answered = Act & { told: Told }

/** R2: what was acknowledged is in the log, once and as it was said. */
export function judgeAcknowledged(history: History, events: readonly Event[]): Line {
  const problems: string[] = []
  const once = (
    acts: readonly Answered[],
    counts: ReadonlyMap<string, number>,
    of: (act: Answered) => string,
  ) => {
    for (const act of acts)
      if (counts.get(of(act)) !== 1)
        problems.push(`${act.kind} ${act.key} is in the log ${counts.get(of(act)) ?? 0} times`)
    return acts.length
  }
  const sent = typed(events, 'message.sent')
  const letters = count(sent.map(({ message, session, text }) => `${message} ${session} ${text}`))
  const created = count(typed(events, 'session.created').map(({ session }) => session))
  const drafted = count(typed(events, 'message.drafted').map(({ message, text }) => `${message} ${text}`))
  const revised = count(typed(events, 'message.revised').map(({ message, text }) => `${message} ${text}`))
  const texts = count(sent.map(({ text }) => text))
  const byId = count(sent.map(({ message }) => message))
  const tried =
    once(history.list('message', 202), letters, (act) => `${act.key} ${act.about} ${act.text}`) +
    once(history.list('session', 201), created, ({ told }) => String(told.body['sessionId'])) +
    once(history.list('draft', 201), drafted, (act) => `${act.key} ${act.text}`) +
    once(history.list('revision', 200), revised, (act) => `${act.key} ${act.text}`) +
    once(history.list('release', 202), byId, ({ key }) => key) +
    once([...history.list('turn', 200), ...history.list('ring', 200)], texts, ({ text }) => text)
  return { law: 'R2  what was acknowledged is there, once', tried, problems }
}

/** R3: what a client was told is what the log has, and nobody was told anything else. */
export function judgeOutcomes(history: History, events: readonly Event[]): Line {
  const problems: string[] = []
  const ended = new Map(typed(events, 'call.ended').map((event) => [event.call as string, event]))
  const opened = count(typed(events, 'call.opened').map(({ task }) => task))
  const calls = history.list('call', 200)
  for (const { key, text, told } of calls) {
    const { call_id: call, outcome, output } = told.body
    const end = ended.get(String(call))
    // Its own turn came to nothing, twice, before it had called anybody.
    if (call === '' && outcome !== 'completed' && !opened.has(text)) continue
    if (end === undefined || end.outcome !== outcome || (end.output !== output && !end.truncated))
      problems.push(
        `${key} was answered with ${String(outcome)} (${String(call)}), the log has ${end?.outcome ?? 'no end'}`,
      )
    if ((opened.get(text) ?? 0) !== 1) problems.push(`${key} was begun ${opened.get(text) ?? 0} times`)
  }
  const turnEnds = new Map(typed(events, 'turn.ended').map((event) => [event.turn as string, event]))
  const cancels = history.list('cancel', 200)
  for (const { key, told } of cancels)
    if (
      told.body['cancelled'] === 1 &&
      !['cancelled', 'interrupted'].includes(turnEnds.get(key)?.outcome ?? '')
    )
      problems.push(`${key} was cancelled, and the log has ${turnEnds.get(key)?.outcome ?? 'no end'}`)
  const waits = history.list('wait', 200).filter(({ told }) => told.body['isActive'] === false)
  for (const { key } of waits) if (!turnEnds.has(key)) problems.push(`${key} was waited for, and has no end`)
  return {
    law: 'R3  one outcome, and the one that the client was told',
    tried: calls.length + cancels.length + waits.length,
    problems,
  }
}

/** A node that has no time may be late with one answer, and not with three. */
async function askAgain(member: Member, path: string): Promise<Told | null> {
  for (let n = 0; n < 3; n += 1) {
    const told = await askOnce(member, 'auditor', { method: 'GET', path })
    if (told !== null) return told
  }
  return null
}

/** R3: asked again at every node, each call has the same outcome. */
export async function judgeAgreement(
  history: History,
  members: readonly Member[],
  most: number,
): Promise<Line> {
  const problems: string[] = []
  const calls = history.list('call', 200).slice(-most)
  let tried = 0
  for (const { key, told } of calls) {
    const id = String(told.body['call_id'])
    if (id === '') continue
    const answers = await Promise.all(members.map((member) => askAgain(member, `/api/calls/${id}`)))
    for (const [at, answer] of answers.entries()) {
      tried += 1
      if (answer?.body['outcome'] === told.body['outcome']) continue
      const said = answer === null ? 'no answer' : JSON.stringify(answer.body['outcome'] ?? answer.body)
      const first = `${String(told.body['outcome'])} at ${told.node}`
      problems.push(`${key}: ${first}, ${said} at ${members[at]?.name ?? ''}`)
    }
  }
  return { law: 'R3  every node gives the same answer afterwards', tried, problems }
}

/** A tool that may have run is not run again. */
export function judgeEffects(directory: string): Line {
  const file = join(directory, effectsFile)
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean) : []
  const effects = lines.map((line) => JSON.parse(line) as Effect)
  const counts = count(effects.map(({ key, turn }) => `${key} in ${turn}`))
  const twice = [...counts].filter(([, times]) => times > 1)
  return {
    law: 'R10 a tool that may have run is not run again',
    tried: effects.length,
    problems: twice.map(([key, times]) => `${key}: ${times} times`),
  }
}

/** The laws of the simulator, law by law. */
export function judgeLog(rows: readonly Row[]): Line[] {
  const { problems, tried, ledger } = replayLaws(rows)
  const names: Readonly<Record<string, string>> = {
    R3: 'R3  every call and every turn ends once',
    R5: 'R5  nobody waits in a ring',
    R6: 'R6  one activation at a time writes for a turn',
    R7: 'R7  budgets, depth and permissions shrink',
    R9: 'R9  mail is delivered once',
    R11: 'R11 nothing is more than its bound',
    R12: 'R12 what can run, runs',
  }
  const law = (problem: string): string => /R\d+/.exec(problem)?.[0] ?? 'other'
  const mail = (problem: string): boolean => / M\d/.test(problem)
  const lines = Object.entries(names).map(([name, says]): Line => ({
    law: says,
    tried: tried.get(name) ?? 0,
    problems: problems.filter((one) => (mail(one) ? name === 'R9' : law(one) === name)),
  }))
  const known = new Set(lines.flatMap(({ problems: some }) => some))
  const rest = problems.filter((one) => !known.has(one))
  if (rest.length > 0) lines.push({ law: 'other laws of the log', tried: rows.length, problems: rest })
  lines.push({
    law: 'R4  everything that was begun has ended',
    tried: ledger.turns.size,
    problems: leftOver(ledger),
  })
  return lines
}
