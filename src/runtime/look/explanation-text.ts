/**
 * An explanation for people: first how each root stands, in one sentence; then waits from the one who asked
 * down to where it stands still, mail, ends and refusals in the order in which they came.
 */
import type { ExplainedEnd, ExplainedTurn, ExplainedWait, Explanation } from '../../wire/explain.ts'

export function explanationText(given: Omit<Explanation, 'text'>): string {
  const nothing = given.ended.length === 0 && given.refused.length === 0 && given.mail.length === 0
  if (given.over && nothing)
    return given.roots.some(({ turn }) => turn !== null)
      ? `Nothing of ${given.id} is running or waiting. Everything ended with an answer, and nothing was refused.`
      : given.roots.map(({ sentence }) => sentence).join('\n')
  return [
    ...given.roots.map(({ sentence }) => sentence),
    ...section(
      'Waiting',
      given.waits.map((wait) => waitLine(wait, given.now)),
    ),
    ...section(
      'Working',
      given.busy.map((one) => `${line(one.agent)} (${one.turn}) ${busyWords(one, given.now)}`),
    ),
    ...section(
      'Mail that waits',
      given.mail.map(({ message, why, since }) => `${message} ${why}, for ${lengthWords(given.now - since)}`),
    ),
    ...section(
      'Ended without an answer',
      given.ended.map(
        (end) =>
          `${line(end.agent)} (${end.what}): ${endWords(end)}` +
          end.because.map((why) => `\n    because ${line(why)}`).join(''),
      ),
    ),
    ...section(
      'Refused',
      given.refused.map(
        ({ caller, agent, code, why }) =>
          `${line(caller)} asked for ${line(agent) || 'somebody'}: ${code}. ${line(why)}`,
      ),
    ),
  ].join('\n')
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map((one) => `  ${one}`)]

const waitedFor = {
  call: '',
  wait: '',
  queue: 'is queued',
  person: 'waits for a person',
  program: 'waits for its program, which is not connected',
  tokens: 'waits for tokens',
  server: 'waits for a server',
}

function waitLine(wait: ExplainedWait, now: number): string {
  const since = `for ${lengthWords(now - wait.since)}, ${deadlineWords(wait.deadline, now)}`
  const task = wait.task === '' ? '' : `: ${JSON.stringify(wait.task)}`
  const who = `${line(wait.agent)} (${wait.turn})`
  if (wait.by === 'call' || wait.by === 'wait')
    return `${who} waits for ${line(wait.forAgent)} (${wait.call ?? wait.forSession}) ${since}${task}`
  const about =
    wait.by === 'person'
      ? `: may it use ${line(wait.tool ?? '')}? (${wait.question ?? ''})`
      : wait.by === 'queue' && wait.forTurn !== null
        ? `: ${wait.forTurn} runs in its session ${wait.forSession}, and ${wait.ahead} are before it`
        : wait.by === 'tokens'
          ? `, which ${line(wait.forAgent)} (${wait.call ?? ''}) holds until it has stopped`
          : ''
  return `${who} ${waitedFor[wait.by]} ${since}${about}`
}

export function busyWords(busy: ExplainedTurn, now: number): string {
  const stopping = busy.stopping === null ? '' : `; it was asked to stop (${busy.stopping}) and has not yet`
  const tokens = busy.tokens === null ? '' : `, ${busy.tokens.used} of ${busy.tokens.max} tokens used`
  const since = `for ${lengthWords(now - busy.since)}, ${deadlineWords(busy.deadline, now)}`
  return `${line(busy.doing)} (${since}${tokens})${stopping}`
}

export function deadlineWords(deadline: number | null, now: number): string {
  if (deadline === null || deadline === 0) return 'no deadline'
  return deadline > now
    ? `deadline in ${lengthWords(deadline - now)}`
    : `deadline passed ${lengthWords(now - deadline)} ago`
}

/** The outcome and its cause, which may already begin with the outcome. */
export const endWords = ({ outcome, cause }: Pick<ExplainedEnd, 'outcome' | 'cause'>): string =>
  cause === outcome || cause.startsWith(`${outcome}:`)
    ? line(cause.replace(outcome, outcome.replaceAll('_', ' ')))
    : `${outcome.replaceAll('_', ' ')}, ${line(cause)}`

export function lengthWords(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

/** Words of others take one line. */
export const line = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
