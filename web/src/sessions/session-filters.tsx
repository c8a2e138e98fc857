/** Search and filters of the tree; they stand in the address. */
import { changeQuery } from '../address.ts'
import { plural } from '../amounts.ts'
import { agentNameOf } from '../live/ledger.ts'
import { useLook } from '../live/use-live.ts'
import type { TreeFilter } from './session-tree.ts'

export function SessionFilters({
  filter,
  shown,
  onNew,
}: {
  filter: TreeFilter
  shown: number
  onNew: () => void
}) {
  const live = useLook('sessions')
  const agents = [
    ...new Set(
      [...live.ledger.sessions.values()].filter(({ kind }) => kind !== 'ephemeral').map(agentNameOf),
    ),
  ]
    .filter((name) => name !== '')
    .sort()
  return (
    <div className="filters" role="search">
      <input
        type="search"
        data-search
        aria-label="Search sessions"
        placeholder="Search: title, agent, directory, id"
        value={filter.text}
        onChange={(event) => changeQuery({ q: event.target.value })}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return
          // The browser would empty the field: leaving it is enough.
          event.preventDefault()
          event.currentTarget.blur()
        }}
      />
      <select
        aria-label="Status"
        value={filter.status}
        onChange={(event) =>
          changeQuery({ status: event.target.value === 'all' ? null : event.target.value })
        }
      >
        <option value="all">Any status</option>
        <option value="streaming">Working</option>
        <option value="idle">Idle</option>
        <option value="error">Error</option>
        <option value="mail">With mail</option>
      </select>
      <select
        aria-label="Agent"
        value={filter.agent}
        onChange={(event) => changeQuery({ agent: event.target.value })}
      >
        <option value="">Any agent</option>
        {agents.map((agent) => (
          <option key={agent} value={agent}>
            {agent}
          </option>
        ))}
      </select>
      <label className="check">
        <input
          type="checkbox"
          checked={filter.calls}
          onChange={(event) => changeQuery({ calls: event.target.checked })}
        />{' '}
        Ended calls
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={filter.archived}
          onChange={(event) => {
            if (event.target.checked) void live.loadArchived()
            changeQuery({ archived: event.target.checked })
          }}
        />{' '}
        Archived
      </label>
      <span className="filters-end">
        <span className="hint" role="status">
          {plural(shown, 'session')}
        </span>
        <button type="button" className="primary" onClick={onNew}>
          New session
        </button>
      </span>
    </div>
  )
}
