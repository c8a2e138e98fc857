/** The rows of the tree. Only those in sight are drawn, and keys move between them. */
import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import { changeQuery, goToSession } from '../address.ts'
import { useKeys } from '../keys.ts'
import { SessionRow } from './session-row.tsx'
import type { TreeFilter, TreeRow } from './session-tree.ts'

const rowHeight = 32

type Sort = TreeFilter['sort']
type Props = {
  rows: readonly TreeRow[]
  sort: Sort
  chosen: string | null
  onToggle: (id: string) => void
}

export function TreeGrid({ rows, sort, chosen, onToggle }: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (index) => rows[index]?.session.id ?? index,
  })
  const { at, onKey } = useRowKeys(rows, virtual, onToggle)
  const chosenAt = rows.findIndex(({ session }) => session.id === chosen)
  useEffect(() => {
    if (chosenAt >= 0) virtual.scrollToIndex(chosenAt)
    // Only when another session is chosen, not whenever the list grows.
  }, [chosen, chosenAt >= 0])
  return (
    <div role="treegrid" aria-label="Sessions by parent" aria-rowcount={rows.length + 1} className="tree">
      <Head sort={sort} />
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
                  onToggle={onToggle}
                  onKey={onKey}
                />
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** Which row has the focus, and what the keys do there. */
function useRowKeys(
  rows: readonly TreeRow[],
  virtual: Virtualizer<HTMLDivElement, Element>,
  toggle: (id: string) => void,
): { at: number; onKey: (event: React.KeyboardEvent, row: TreeRow) => void } {
  const [focused, setFocused] = useState(0)
  const at = Math.min(focused, rows.length - 1)
  const focusRow = (index: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, index))
    setFocused(next)
    virtual.scrollToIndex(next)
    const find = (): HTMLElement | null | undefined =>
      virtual.scrollElement?.querySelector<HTMLElement>(`[aria-rowindex="${next + 2}"]`)
    // A row that is out of sight is drawn in the next frame.
    if (find() === null) requestAnimationFrame(() => find()?.focus())
    else find()?.focus()
  }
  const moveBy = (step: 1 | -1): void =>
    focusRow(virtual.scrollElement?.contains(document.activeElement) === true ? at + step : at)
  useKeys({ j: () => moveBy(1), k: () => moveBy(-1) })
  const onKey = (event: React.KeyboardEvent, row: TreeRow): void => {
    const index = rows.indexOf(row)
    const { id, parent } = row.session
    const acts: Record<string, () => void> = {
      ArrowDown: () => focusRow(index + 1),
      ArrowUp: () => focusRow(index - 1),
      Home: () => focusRow(0),
      End: () => focusRow(rows.length - 1),
      Enter: () => goToSession(id),
      ArrowRight: () => (row.hasChildren && !row.isOpen ? toggle(id) : focusRow(index + 1)),
      ArrowLeft: () =>
        row.isOpen ? toggle(id) : focusRow(rows.findIndex(({ session }) => session.id === parent)),
    }
    const act = acts[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  return { at, onKey }
}

const columns: readonly { title: string; sort?: Sort; className?: string; about?: string }[] = [
  { title: 'Session', sort: 'name', className: 'tree-name' },
  { title: 'Status' },
  { title: 'Directory', className: 'tree-dir' },
  { title: 'Mail', className: 'number', about: 'Messages that wait to be accepted' },
  { title: 'Tokens', sort: 'tokens', className: 'number' },
  { title: 'Active', sort: 'activity', className: 'number' },
]

const Head = ({ sort }: { sort: Sort }) => (
  <div role="rowgroup">
    <div role="row" aria-rowindex={1} className="tree-row tree-head">
      {columns.map(({ title, sort: by, className, about }) => (
        <div
          key={title}
          role="columnheader"
          className={className}
          title={about}
          {...(by === sort ? { 'aria-sort': by === 'name' ? 'ascending' : 'descending' } : {})}
        >
          {by === undefined ? (
            title
          ) : (
            <button type="button" className="sort" onClick={() => changeQuery({ sort: by })}>
              {title}
              {by === sort && <span aria-hidden="true"> {by === 'name' ? '▴' : '▾'}</span>}
            </button>
          )}
        </div>
      ))}
    </div>
  </div>
)
