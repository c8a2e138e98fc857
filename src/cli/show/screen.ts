/**
 * Redraws lines in place at the bottom of a terminal.
 *
 * Only lines that changed are written, each frame in one write and marked as one for terminals that know how,
 * so nothing flickers.
 * The cursor rests below the lines; it is hidden while the screen is open and comes back however the process
 * ends.
 */
import { stripVTControlCharacters } from 'node:util'
import { control, type Terminal } from './terminal.ts'
import { displayWidth } from './width.ts'

export type Screen = {
  /** What is drawn may use this much. */
  size(): { width: number; rows: number }
  draw(lines: readonly string[]): void
  /** Prints a text that stays, above what is drawn. */
  above(text: string): void
  close(): void
}

const hide = control('?25l')
const show = control('?25h')
const asOne = (text: string): string => `${control('?2026h')}${text}${control('?2026l')}`
const [toLineEnd, toScreenEnd] = [control('K'), control('J')]

/** What turns one frame into the next. Empty where nothing changed. */
export function renderFrame(before: readonly string[], after: readonly string[]): string {
  const changed = after.length !== before.length || after.some((line, index) => line !== before[index])
  if (!changed) return ''
  const lines = after.map((line, index) => (line === before[index] ? '\n' : `${line}${toLineEnd}\n`)).join('')
  return asOne(`${up(before.length)}${lines}${after.length < before.length ? toScreenEnd : ''}`)
}

const up = (rows: number): string => `${control('G')}${rows > 0 ? control(`${rows}A`) : ''}`

export function openScreen(terminal: Terminal): Screen {
  let drawn: readonly string[] = []
  let width = terminal.columns ?? 80
  const erase = (): string => `${up(drawn.length)}${toScreenEnd}`
  // A terminal that became narrower has broken our lines into more rows; all of them go.
  const resize = (): void => {
    width = terminal.columns ?? width
    const rows = drawn.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(displayWidth(stripVTControlCharacters(line)) / width)),
      0,
    )
    terminal.write(`${up(rows)}${toScreenEnd}`)
    drawn = []
  }
  const restore = (): void => void terminal.write(show)
  terminal.on('resize', resize)
  process.once('exit', restore)
  terminal.write(hide)
  return {
    // The last column is left free, or some terminals would break the line; so is the last row, for the
    // cursor.
    size: () => ({ width: width - 1, rows: Math.max(1, (terminal.rows ?? 24) - 1) }),
    draw(lines) {
      const frame = renderFrame(drawn, lines)
      drawn = [...lines]
      if (frame !== '') terminal.write(frame)
    },
    above(text) {
      const again = drawn.map((line) => `${line}\n`).join('')
      terminal.write(asOne(`${erase()}${text}\n${again}`))
    },
    close() {
      terminal.off('resize', resize)
      process.off('exit', restore)
      restore()
    },
  }
}
