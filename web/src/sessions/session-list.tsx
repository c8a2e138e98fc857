/** The tree of sessions: virtual, searchable, worked with keys. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { changeQuery, goToSession } from '../address.ts'
import { useKeys } from '../keys.ts'
import { useLook } from '../live/use-live.ts'
import { Empty, Loading } from '../parts/states.tsx'
import { SessionFilters } from './session-filters.tsx'
import { SessionRow } from './session-row.tsx'
import { filterOf, treeRows, type TreeRow } from './session-tree.ts'

const rowHeight = 32

export function SessionList({
  chosen,
  query,
  onNew,
}: {
  chosen: string | null
  query: URLSearchParams
  onNew: () => void
}) {
  const live = useLook('sessions')
  const filter = filterOf(query)
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [focused, setFocused] = useState(0)
  const scroller = useRef<HTMLDivElement>(null)
  const rows = treeRows(live.ledger, filter, closed)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (index) => rows[index]?.session.id ?? index,
  })
  const toggle = useCallback(
    (id: string) =>
      setClosed((known) => new Set(known.has(id) ? [...known].filter((one) => one !== id) : [...known, id])),
    [],
  )
  const at = Math.min(focused, rows.length - 1)
  const focusRow = (index: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, index))
    setFocused(next)
    virtual.scrollToIndex(next)
    const row = (): HTMLElement | null | undefined =>
      scroller.current?.querySelector<HTMLElement>(`[aria-rowindex="${next + 2}"]`)
    // One that is out of sight is drawn first.
    if (row() === null) requestAnimationFrame(() => row()?.focus())
    else row()?.focus()
  }
  useKeys({
    j: () => focusRow(hasFocus(scroller.current) ? at + 1 : at),
    k: () => focusRow(hasFocus(scroller.current) ? at - 1 : at),
  })
  const onKey = (event: React.KeyboardEvent, row: TreeRow): void => {
    const index = rows.indexOf(row)
    const acts: Record<string, () => void> = {
      ArrowDown: () => focusRow(index + 1),
      ArrowUp: () => focusRow(index - 1),
      Home: () => focusRow(0),
      End: () => focusRow(rows.length - 1),
      Enter: () => goToSession(row.session.id),
      ArrowRight: () => (row.hasChildren && !row.isOpen ? toggle(row.session.id) : focusRow(index + 1)),
      ArrowLeft: () =>
        row.isOpen
          ? toggle(row.session.id)
          : focusRow(rows.findIndex(({ session }) => session.id === row.session.parent)),
    }
    const act = acts[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  const { lists } = live.loaded()
  const chosenAt = rows.findIndex(({ session }) => session.id === chosen)
  useEffect(() => {
    if (chosenAt >= 0) virtual.scrollToIndex(chosenAt)
    // When another one is chosen, not whenever the list grows.
  }, [chosen, chosenAt >= 0])
  return (
    <section className="session-list" aria-label="Sessions">
      <SessionFilters filter={filter} shown={rows.filter(({ fits }) => fits).length} onNew={onNew} />
      <div role="treegrid" aria-label="Sessions by parent" aria-rowcount={rows.length + 1} className="tree">
        <div role="rowgroup">
          <div role="row" aria-rowindex={1} className="tree-row tree-head">
            <Head />
          </div>
        </div>
        <div role="rowgroup" className="tree-body" ref={scroller}>
          <div role="presentation" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
            {virtual.getVirtualItems().map((item) => {
              const row = rows[item.index]
              return row === undefined ? null : (
                <div
                  role="presentation"
                  key={item.key}
                  className="tree-slot"
                  style={{ transform: `translateY(${item.start}px)`, height: item.size }}
                >
                  <SessionRow
                    row={row}
                    index={item.index}
                    isChosen={row.session.id === chosen}
                    isFocusable={item.index === at}
                    onToggle={toggle}
                    onKey={onKey}
                  />
                </div>
              )
            })}
          </div>
        </div>
      </div>
      {rows.length === 0 &&
        (lists ? (
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

const hasFocus = (element: HTMLElement | null): boolean => element?.contains(document.activeElement) ?? false

const Head = () =>
  useMemo(
    () => (
      <>
        <div role="columnheader" className="tree-name">
          Session
        </div>
        <div role="columnheader">Status</div>
        <div role="columnheader" className="tree-dir">
          Directory
        </div>
        <div role="columnheader" className="number" title="Messages that wait to be accepted">
          Mail
        </div>
        <div role="columnheader" className="number">
          Tokens
        </div>
        <div role="columnheader" className="number">
          Active
        </div>
      </>
    ),
    [],
  )

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
