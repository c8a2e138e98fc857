/** The sessions as a tree that can be searched and filtered. */
import { useCallback, useState } from 'react'
import { changeQuery } from '../address.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { Empty, Loading } from '../parts/states.tsx'
import { useFreshPresence } from '../presence/presence.tsx'
import { SessionFilters } from './session-filters.tsx'
import { buildRows, parseFilter } from './session-tree.ts'
import { TreeGrid } from './tree-grid.tsx'

export function SessionList({
  chosen,
  query,
  onNew,
}: {
  chosen: string | null
  query: URLSearchParams
  onNew: () => void
}) {
  const live = useLiveTopic('sessions')
  const filter = parseFilter(query)
  useFreshPresence()
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const rows = buildRows(live.ledger, filter, closed)
  const toggle = useCallback(
    (id: string) =>
      setClosed((known) => new Set(known.has(id) ? [...known].filter((one) => one !== id) : [...known, id])),
    [],
  )
  return (
    <section className="session-list" aria-label="Sessions">
      <SessionFilters filter={filter} shown={rows.filter(({ fits }) => fits).length} onNew={onNew} />
      <TreeGrid rows={rows} sort={filter.sort} chosen={chosen} onToggle={toggle} />
      {rows.length === 0 &&
        (live.loaded().lists ? (
          <NothingFits
            hasFilter={filter.text !== '' || filter.status !== 'all' || filter.agent !== ''}
            onNew={onNew}
          />
        ) : (
          <Loading what="sessions" />
        ))}
    </section>
  )
}

const NothingFits = ({ hasFilter, onNew }: { hasFilter: boolean; onNew: () => void }) =>
  hasFilter ? (
    <Empty title="No session fits.">
      <button type="button" onClick={() => changeQuery({ q: null, status: null, agent: null })}>
        Show all
      </button>
    </Empty>
  ) : (
    <Empty title="No sessions yet.">
      <p>A session is one conversation with an agent.</p>
      <p>
        <button type="button" className="primary" onClick={onNew}>
          New session
        </button>{' '}
        or <a href="#/start">run the demo</a>.
      </p>
    </Empty>
  )
