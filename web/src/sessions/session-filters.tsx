/** The search and the filters of the tree. They are part of the address. */
import { changeQuery } from '../address.ts'
import { pluralize, shortenPath } from '../format.ts'
import { nameSessionAgent, type Ledger } from '../live/ledger.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { CheckBox } from '../parts/check-box.tsx'
import { QuietSwitch } from '../presence/quiet-switch.tsx'
import type { TreeFilter } from './session-tree.ts'

type Props = { filter: TreeFilter; shown: number; onNew: () => void }

export function SessionFilters({ filter, shown, onNew }: Props) {
  const live = useLiveTopic('sessions')
  return (
    <div className="filters" role="search">
      <input
        type="search"
        data-search
        aria-label="Search sessions"
        placeholder="Search"
        title="By title, agent, directory or id"
        value={filter.text}
        onChange={(event) => changeQuery({ q: event.target.value })}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return
          // The browser would empty the field: leaving it is enough.
          event.preventDefault()
          event.currentTarget.blur()
        }}
      />
      <FilterSelects filter={filter} ledger={live.ledger} />
      <CheckBox label="Ended calls" checked={filter.calls} onChange={(calls) => changeQuery({ calls })} />
      <CheckBox
        label="Archived"
        checked={filter.archived}
        onChange={(archived) => {
          if (archived) void live.loadArchived()
          changeQuery({ archived })
        }}
      />
      <span className="filters-end">
        <span className="hint" role="status">
          {pluralize(shown, 'session')}
        </span>
        <QuietSwitch until={live.ledger.quietUntil} />
        <button type="button" className="primary" onClick={onNew}>
          New session
        </button>
      </span>
    </div>
  )
}

function FilterSelects({ filter, ledger }: { filter: TreeFilter; ledger: Ledger }) {
  return (
    <>
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
        <option value="error">Failed</option>
        <option value="mail">With mail</option>
        <option value="asking">Asks me</option>
        <option value="away">Program away</option>
      </select>
      <select
        aria-label="Sort"
        value={filter.sort}
        onChange={(event) => changeQuery({ sort: event.target.value })}
      >
        <option value="activity">By activity</option>
        <option value="created">Newest first</option>
        <option value="tokens">By tokens</option>
        <option value="name">By name</option>
      </select>
      <select
        aria-label="Project"
        value={filter.project}
        onChange={(event) => changeQuery({ project: event.target.value })}
      >
        <option value="">Any directory</option>
        {listDirectories(ledger).map((dir) => (
          <option key={dir} value={dir}>
            {shortenPath(dir)}
          </option>
        ))}
      </select>
      <select
        aria-label="Agent"
        value={filter.agent}
        onChange={(event) => changeQuery({ agent: event.target.value })}
      >
        <option value="">Any agent</option>
        {listAgents(ledger).map((agent) => (
          <option key={agent} value={agent}>
            {agent}
          </option>
        ))}
      </select>
    </>
  )
}

function listAgents({ sessions }: Ledger): string[] {
  const lasting = [...sessions.values()].filter(({ kind }) => kind !== 'ephemeral')
  return [...new Set(lasting.map(nameSessionAgent))].filter((name) => name !== '').sort()
}

const listDirectories = ({ sessions }: Ledger): string[] =>
  [...new Set(Array.from(sessions.values(), ({ cwd }) => cwd))].filter((cwd) => cwd !== '').sort()
