/** Bars, ranges, columns and points in plain SVG, each with a table of its numbers for screen readers. */
import type { ReactNode } from 'react'
import { formatAmount, shortenPath } from '../format.ts'
import { TableHead } from '../parts/table-head.tsx'

export function Plot({
  title,
  note,
  children,
  rows,
  head,
}: {
  title: string
  note?: string
  children: ReactNode
  head: readonly string[]
  rows: readonly (readonly (string | number)[])[]
}) {
  return (
    <figure className="plot">
      <figcaption>
        <h2>{title}</h2>
        {note !== undefined && <p className="hint">{note}</p>}
      </figcaption>
      {rows.length === 0 ? <p className="hint">Nothing yet.</p> : children}
      {rows.length > 0 && (
        <details>
          <summary>As a table</summary>
          <div className="table-scroll">
            <table className="table">
              <TableHead columns={head} numeric={head.slice(1)} />
              <tbody>
                {rows.map((row, index) => (
                  <tr key={index}>
                    {row.map((cell, column) => (
                      <td key={column} className={column === 0 ? undefined : 'number'}>
                        {column === 0 ? <bdi>{cell}</bdi> : cell}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      )}
    </figure>
  )
}

export type BarRow = {
  name: string
  parts: readonly { size: number; tone: string; title: string }[]
  note: string
}

/** Of a directory and of a provider's model the end tells it from others; the whole name is in the title. */
const shortenName = (name: string): string =>
  name.startsWith('/') ? shortenPath(name) : name.slice(name.lastIndexOf('/') + 1)

/** One bar for each name, divided into parts. The longest is as long as there is room, and at least `full`. */
export function Bars({ rows, full = 1 }: { rows: readonly BarRow[]; full?: number }) {
  const whole = Math.max(full, ...rows.map(({ parts }) => parts.reduce((sum, { size }) => sum + size, 0)))
  return (
    <div className="bars" aria-hidden="true">
      {rows.map(({ name, parts, note }) => (
        <div className="bar-row" key={name}>
          <span className="bar-name" title={name}>
            <bdi>{shortenName(name)}</bdi>
          </span>
          <svg>
            {parts.map((part, index) => (
              <rect
                key={index}
                className={`fill-${part.tone}`}
                x={`${(parts.slice(0, index).reduce((sum, { size }) => sum + size, 0) / whole) * 100}%`}
                width={`${(part.size / whole) * 100}%`}
                height="14"
              >
                <title>{part.title}</title>
              </rect>
            ))}
          </svg>
          <span className="number">{note}</span>
        </div>
      ))}
    </div>
  )
}

/** From the median to the 95th percentile, on a logarithmic scale. */
export function Ranges({
  rows,
  ticks,
}: {
  rows: readonly { name: string; from: number; to: number; max: number; note: string }[]
  ticks: readonly { at: number; word: string }[]
}) {
  const [low, high] = [
    Math.log10(Math.max(1, ticks[0]?.at ?? 1)),
    Math.log10(Math.max(10, ticks.at(-1)?.at ?? 10)),
  ]
  const place = (ms: number): number =>
    Math.min(100, Math.max(0, ((Math.log10(Math.max(1, ms)) - low) / (high - low)) * 100))
  return (
    <div className="bars" aria-hidden="true">
      {rows.map(({ name, from, to, max, note }) => (
        <div className="bar-row" key={name}>
          <span className="bar-name" title={name}>
            <bdi>{shortenName(name)}</bdi>
          </span>
          <svg>
            {ticks.map(({ at }) => (
              <line key={at} className="grid" x1={`${place(at)}%`} x2={`${place(at)}%`} y1="0" y2="14" />
            ))}
            <rect
              className="fill-live"
              x={`${place(from)}%`}
              width={`${Math.max(0.8, place(to) - place(from))}%`}
              y="3"
              height="8"
              rx="2"
            />
            <circle className="fill-ink" cx={`${place(from)}%`} cy="7" r="4" />
            <line className="fill-line" x1={`${place(max)}%`} x2={`${place(max)}%`} y1="2" y2="12" />
          </svg>
          <span className="number">{note}</span>
        </div>
      ))}
      <div className="bar-row">
        <span />
        <svg>
          {ticks.map(({ at, word }, index) => (
            <text
              key={at}
              x={`${place(at)}%`}
              y="11"
              textAnchor={index === 0 ? 'start' : index === ticks.length - 1 ? 'end' : 'middle'}
            >
              {word}
            </text>
          ))}
        </svg>
        <span />
      </div>
    </div>
  )
}

const columnMax = 40
const size = { width: 560, height: 170, left: 44, bottom: 22 }

/** Columns over time, divided into parts. */
export function Columns({
  columns,
  word,
}: {
  columns: readonly { parts: readonly { size: number; tone: string }[]; title: string }[]
  word: { first: string; last: string }
}) {
  const whole = Math.max(1, ...columns.map(({ parts }) => parts.reduce((sum, part) => sum + part.size, 0)))
  const width = Math.min(columnMax, (size.width - size.left) / Math.max(1, columns.length))
  const end = size.left + columns.length * width
  const height = size.height - size.bottom
  const tall = (count: number): number => (count / whole) * (height - 8)
  return (
    <svg className="columns" viewBox={`0 0 ${size.width} ${size.height}`} aria-hidden="true">
      <text x={size.left - 6} y="12" textAnchor="end">
        {formatAmount(whole)}
      </text>
      <text x={size.left - 6} y={height} textAnchor="end">
        0
      </text>
      <line className="grid" x1={size.left} x2={size.width} y1={height} y2={height} />
      {columns.map(({ parts, title }, index) => (
        <g key={index}>
          <title>{title}</title>
          {parts.map((part, at) => {
            const below = parts.slice(0, at).reduce((sum, one) => sum + one.size, 0)
            return (
              <rect
                key={at}
                className={`fill-${part.tone}`}
                x={size.left + index * width + 0.5}
                width={Math.max(1, width - 1)}
                y={height - tall(below + part.size)}
                height={tall(part.size)}
              />
            )
          })}
        </g>
      ))}
      <text x={size.left} y={size.height - 6}>
        {word.first}
      </text>
      {end > size.width / 2 && (
        <text x={end} y={size.height - 6} textAnchor="end">
          {word.last}
        </text>
      )}
    </svg>
  )
}

/** One point for each call; below the line, less was passed than there was. */
export function Points({
  points,
  words,
}: {
  points: readonly { x: number; y: number; title: string }[]
  words: { x: string; y: string }
}) {
  const whole = Math.max(10, ...points.flatMap(({ x, y }) => [x, y]))
  const log = (value: number): number => Math.log10(value + 1) / Math.log10(whole + 1)
  const [height, width] = [size.height - size.bottom, size.width - size.left - 8]
  return (
    <svg className="columns" viewBox={`0 0 ${size.width} ${size.height}`} aria-hidden="true">
      <line className="grid" x1={size.left} y1={height} x2={size.left + width} y2="4" />
      <line className="grid" x1={size.left} x2={size.width} y1={height} y2={height} />
      <line className="grid" x1={size.left} x2={size.left} y1="4" y2={height} />
      {points.map(({ x, y, title }, index) => (
        <circle
          key={index}
          className="point"
          cx={size.left + log(x) * width}
          cy={height - log(y) * (height - 4)}
          r="3.5"
        >
          <title>{title}</title>
        </circle>
      ))}
      <text x={size.width} y={size.height - 6} textAnchor="end">
        {words.x} → {formatAmount(whole)}
      </text>
      <text x={size.left + 6} y="12">
        {words.y} ↑ {formatAmount(whole)}
      </text>
    </svg>
  )
}
