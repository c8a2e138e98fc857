/** The sessions as a tree, searched and filtered. The ancestors of a session that fits are shown too. */
import { getActivity, nameSession } from '../live/describe-facts.ts'
import { userSession } from '../live/fold-mail.ts'
import { nameSessionAgent, isActive, getStatus, type Ledger, type SessionFact } from '../live/ledger.ts'

export const statuses = ['all', 'streaming', 'idle', 'error', 'mail', 'asking', 'away'] as const
export const sorts = ['activity', 'created', 'tokens', 'name'] as const

export type TreeFilter = {
  text: string
  status: (typeof statuses)[number]
  sort: (typeof sorts)[number]
  project: string
  agent: string
  calls: boolean
  archived: boolean
}
export type TreeRow = {
  session: SessionFact
  level: number
  hasChildren: boolean
  isOpen: boolean
  fits: boolean
}

export function parseFilter(query: URLSearchParams): TreeFilter {
  const status = query.get('status')
  return {
    text: query.get('q') ?? '',
    status: statuses.find((one) => one === status) ?? 'all',
    sort: sorts.find((one) => one === query.get('sort')) ?? 'activity',
    project: query.get('project') ?? '',
    agent: query.get('agent') ?? '',
    calls: query.get('calls') === 'true',
    archived: query.get('archived') === 'true',
  }
}

export function buildRows(ledger: Ledger, filter: TreeFilter, closed: ReadonlySet<string>): TreeRow[] {
  const shown = new Map<string, { session: SessionFact; fits: boolean }>()
  const words = filter.text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  for (const session of ledger.sessions.values()) {
    if (!isListed(session, filter) || !fits(ledger, session, filter, words)) continue
    shown.set(session.id, { session, fits: true })
    for (
      let above = findParent(ledger, session);
      above !== undefined && !shown.has(above.id);
      above = findParent(ledger, above)
    )
      shown.set(above.id, {
        session: above,
        fits: isListed(above, filter) && fits(ledger, above, filter, words),
      })
  }
  return flattenTree(shown, closed, compareBy(ledger, filter.sort))
}

const findParent = (ledger: Ledger, session: SessionFact): SessionFact | undefined =>
  session.parent === null || session.parent === session.id ? undefined : ledger.sessions.get(session.parent)

/** A session made by a call is listed only while it works, unless the filter asks for all. */
function isListed(session: SessionFact, { calls, archived }: TreeFilter): boolean {
  if (session.id === userSession) return false
  if (session.kind === 'ephemeral') return session.agent !== '' && (calls || isActive(session))
  return archived || !session.archived
}

const isAt = (ledger: Ledger, session: SessionFact, status: TreeFilter['status']): boolean =>
  getActivity(ledger, session) === status

function fits(
  ledger: Ledger,
  session: SessionFact,
  { status, agent, project }: TreeFilter,
  words: readonly string[],
): boolean {
  if (status === 'asking' || status === 'away') {
    if (!isAt(ledger, session, status)) return false
  } else if (status === 'mail' ? session.buffered === 0 : status !== 'all' && getStatus(session) !== status)
    return false
  if (project !== '' && session.cwd !== project) return false
  if (agent !== '' && nameSessionAgent(session) !== agent) return false
  if (words.length === 0) return true
  const { cwd, id, model } = session
  const text = [nameSession(ledger, session), nameSessionAgent(session), cwd, id, model ?? '']
    .join(' ')
    .toLowerCase()
  return words.every((word) => text.includes(word))
}

/** By activity in steps of ten seconds, so that rows do not jump while several work. */
const activityStepMs = 10_000
const rank = (session: SessionFact, sort: TreeFilter['sort']): number =>
  sort === 'tokens'
    ? session.tokensUsed
    : sort === 'created'
      ? session.createdAt
      : Math.floor(session.updatedAt / activityStepMs)

const compareBy =
  (ledger: Ledger, sort: TreeFilter['sort']) =>
  (a: SessionFact, b: SessionFact): number =>
    sort === 'name'
      ? nameSession(ledger, a).localeCompare(nameSession(ledger, b))
      : rank(b, sort) - rank(a, sort)

function flattenTree(
  shown: ReadonlyMap<string, { session: SessionFact; fits: boolean }>,
  closed: ReadonlySet<string>,
  compare: (a: SessionFact, b: SessionFact) => number,
): TreeRow[] {
  const children = new Map<string | null, { session: SessionFact; fits: boolean }[]>()
  for (const one of shown.values()) {
    const { parent } = one.session
    const above = parent !== null && shown.has(parent) ? parent : null
    const known = children.get(above)
    if (known === undefined) children.set(above, [one])
    else known.push(one)
  }
  for (const list of children.values())
    list.sort((a, b) => compare(a.session, b.session) || (a.session.id < b.session.id ? 1 : -1))
  const rows: TreeRow[] = []
  const seen = new Set<string>()
  const add = (above: string | null, level: number): void => {
    for (const { session, fits: itFits } of children.get(above) ?? []) {
      if (seen.has(session.id)) continue
      seen.add(session.id)
      const hasChildren = children.has(session.id)
      const isOpen = hasChildren && !closed.has(session.id)
      rows.push({ session, level, hasChildren, isOpen, fits: itFits })
      if (isOpen) add(session.id, level + 1)
    }
  }
  add(null, 1)
  return rows
}
