/** The result of one part of the bench: tables for people, and checks of the required figures. */

export type Table = { title: string; columns: readonly string[]; rows: readonly (readonly string[])[] }

/** One required figure. */
export type Check = { name: string; figure: number; relation: '>=' | '<='; limit: number; unit: string }

export const requireAtMost = (name: string, figure: number, limit: number, unit = ''): Check => ({
  name,
  figure,
  relation: '<=',
  limit,
  unit,
})

export const requireAtLeast = (name: string, figure: number, limit: number, unit = ''): Check => ({
  ...requireAtMost(name, figure, limit, unit),
  relation: '>=',
})

export type Part = { name: string; tables: Table[]; checks: Check[]; notes: string[] }

export const isMet = ({ figure, relation, limit }: Check): boolean =>
  relation === '>=' ? figure >= limit : figure <= limit

export function formatNumber(value: number | null): string {
  if (value === null) return '–'
  if (!Number.isFinite(value)) return '?'
  const size = Math.abs(value)
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2)
}

export const formatRatio = (value: number): string => `${formatNumber(value)}×`

export function renderTable({ title, columns, rows }: Table): string {
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((row) => (row[index] ?? '').length)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) =>
        index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
      )
      .join('  ')
      .trimEnd()
  return [title, line(columns), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

export function renderCheck(check: Check): string {
  const { name, figure, relation, limit, unit } = check
  const status = isMet(check) ? 'met    ' : 'NOT MET'
  const bound = `${relation === '>=' ? 'at least' : 'at most'} ${formatNumber(limit)}${unit}`
  return `${status}  ${name}: ${formatNumber(figure)}${unit} (${bound})`
}
