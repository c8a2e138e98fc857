/** What a part of the bench gives back: tables for people, checks for the figures that must hold. */

export type Table = { title: string; columns: readonly string[]; rows: readonly (readonly string[])[] }

/** One required figure. `met` follows from the other three. */
export type Check = { name: string; figure: number; relation: '>=' | '<='; limit: number; unit: string }

export type Part = { name: string; tables: Table[]; checks: Check[]; notes: string[] }

export const isMet = ({ figure, relation, limit }: Check): boolean =>
  relation === '>=' ? figure >= limit : figure <= limit

export function number(value: number | null): string {
  if (value === null) return '–'
  if (!Number.isFinite(value)) return '?'
  const size = Math.abs(value)
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2)
}

export const times = (value: number): string => `${number(value)}×`

export function tableText({ title, columns, rows }: Table): string {
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

export function checkText(check: Check): string {
  const words = check.relation === '>=' ? 'at least' : 'at most'
  return `${isMet(check) ? 'met    ' : 'NOT MET'}  ${check.name}: ${number(check.figure)}${check.unit} (${words} ${number(check.limit)}${check.unit})`
}
