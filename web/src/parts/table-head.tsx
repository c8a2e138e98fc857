import type { ReactNode } from 'react'

/** The head of a table. The columns named in `numeric` are aligned like numbers. */
export const TableHead = ({
  columns,
  numeric = [],
  children,
}: {
  columns: readonly string[]
  numeric?: readonly string[]
  children?: ReactNode
}) => (
  <thead>
    <tr>
      {columns.map((name) => (
        <th key={name} scope="col" className={numeric.includes(name) ? 'number' : undefined}>
          {name}
        </th>
      ))}
      {children}
    </tr>
  </thead>
)
