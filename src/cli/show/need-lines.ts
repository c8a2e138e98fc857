/** What waits for a person, as text. Nothing that the person decides on is cut. Pure. */
import type { Need } from '../../wire/needs.ts'
import { renderForeign, readInput } from '../chat/question.ts'
import { formatAgo, formatTimeLeft } from './amounts.ts'
import { shortId, shortQuestion } from './short-id.ts'
import { oneLine } from './width.ts'

const words: Readonly<Record<Need['kind'], string>> = {
  question: 'asks you',
  draft: 'draft',
  mail: 'mail',
  failure: 'failed',
  project: 'trust',
}

/** What to type next; nothing where a file is to be corrected. */
export function describeActs(need: Need): string {
  switch (need.kind) {
    case 'question': {
      const id = shortQuestion(need.id)
      return `tieline answer ${id} allow   (or: allow --for-session, deny --reason "…")`
    }
    case 'draft':
      return `tieline inbox --release ${need.id}   (or: --decline ${need.id})`
    case 'mail':
      return 'tieline inbox me   reads, accepts and answers it'
    case 'failure':
      return `tieline flow ${shortId(need.id)}   shows it, and takes it from this list`
    case 'project':
      return need.acts.includes('trust') ? `tieline trust ${need.id}` : ''
  }
}

const field = (name: string, value: string): string[] =>
  value === '' ? [] : [`  ${name.padEnd(9)} ${value}`]

const block = (name: string, lines: readonly string[], width: number): string[] =>
  lines.every((line) => line.trim() === '') ? [] : [`  ${name}`, ...renderForeign(lines, width)]

/** One need, whole. Texts of agents are on lines of their own, so that none can look like our words. */
export function renderNeed(need: Need, now: number, width: number): string[] {
  const when =
    need.deadline === null
      ? need.kind === 'project'
        ? ''
        : `, ${formatAgo(now - need.at)}`
      : `, ${formatTimeLeft(need.deadline - now)}`
  return [
    `[${words[need.kind]}] ${oneLine(need.title)}${when}`,
    ...field('where', oneLine(need.cwd)),
    ...field('for', need.path.map(oneLine).join(' -> ')),
    ...(need.request === need.task ? [] : block('request:', need.request.split('\n'), width)),
    ...block('task:', need.task.split('\n'), width),
    ...block('said last:', need.lastWords.split('\n'), width),
    ...block('text:', need.text.split('\n'), width),
    ...(need.tool === null ? [] : block(`would run ${oneLine(need.tool)}:`, readInput(need.input), width)),
    ...[describeActs(need)].filter((act) => act !== '').map((act) => `  ${act}`),
  ]
}

export const renderNeeds = (needs: readonly Need[], now: number, width: number): string =>
  needs.map((need) => renderNeed(need, now, width).join('\n')).join('\n\n')
