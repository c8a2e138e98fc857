/**
 * An explanation for people: waits first, from the one who asked down to where it stands still, then ends and
 * refusals in the order in which they came.
 */
import type { Busy, Explanation, Wait } from './explain.ts'

export function explanationText(given: Explanation): string {
  const parts = [
    given.over ? `Nothing of ${given.id} is running or waiting.` : '',
    ...section(
      'Waiting',
      given.waits.map((wait) => waitWords(wait, given.now)),
    ),
    ...section(
      'Working, or standing still',
      given.busy.map((one) => busyWords(one, given.now)),
    ),
    ...section(
      'Ended without an answer',
      given.ended.map(
        ({ what, agent, outcome, cause, because }) =>
          `${agent} (${what}): ${worded(outcome, cause)}${because.map((why) => `\n    because ${why}`).join('')}`,
      ),
    ),
    ...section(
      'Refused',
      given.refused.map(
        ({ caller, agent, tool, code, why }) =>
          `${caller} wanted ${agent === '' ? 'somebody' : agent} by ${tool}: ${code}. ${why}`,
      ),
    ),
  ]
  const text = parts.filter((part) => part !== '').join('\n')
  return given.over && given.ended.length === 0 && given.refused.length === 0
    ? `${text} Everything ended with an answer, and nothing was refused.`
    : text
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]

function waitWords(wait: Wait, now: number): string {
  const since = `for ${lengthWords(now - wait.since)}, ${deadlineWords(wait.deadline, now)}`
  if (wait.by === 'queue')
    return `${wait.agent} (${wait.turn}) is queued ${since}: ${
      wait.forTurn === null
        ? 'nothing runs in its session, so the next sweep starts it'
        : `${wait.forTurn} runs in its session ${wait.forSession}`
    }`
  const task = wait.task === '' ? '' : `: ${JSON.stringify(wait.task)}`
  return `${wait.agent} (${wait.turn}) waits for ${wait.forAgent} (${wait.call ?? wait.forSession}) ${since}${task}`
}

function busyWords(busy: Busy, now: number): string {
  const stopping =
    busy.stopping === null
      ? ''
      : `; it was told to stop (${busy.stopping}) and its driver has not stopped yet`
  const since = `since ${lengthWords(now - busy.since)}, ${deadlineWords(busy.deadline, now)}`
  return `${busy.agent} (${busy.turn}) ${busy.doing}, ${since}${stopping}`
}

function deadlineWords(deadline: number | null, now: number): string {
  if (deadline === null) return 'with no deadline of its own'
  return deadline > now
    ? `deadline in ${lengthWords(deadline - now)}`
    : `deadline passed ${lengthWords(now - deadline)} ago`
}

const worded = (outcome: string, cause: string): string =>
  cause === outcome || cause.startsWith(`${outcome}:`)
    ? cause.replaceAll('_', ' ')
    : `${outcome.replaceAll('_', ' ')}, ${cause}`

function lengthWords(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}
