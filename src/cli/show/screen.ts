/**
 * Redraws lines in place at the bottom of a terminal. Only changed lines are written, each frame in one write
 * that is marked as a synchronized update, so that nothing flickers. The cursor is hidden below the lines, and
 * comes back however the process ends.
 */
import { stripVTControlCharacters } from 'node:util'
import { control, type Terminal } from './terminal.ts'
import { displayWidth } from './width.ts'

export type Screen = {
  /** The room for what is drawn. */
  size(): { width: number; rows: number }
  draw(lines: readonly string[]): void
  /** Prints a text above what is drawn. It stays. */
  above(text: string): void
  close(): void
}

const hide = control('?25l')
const show = control('?25h')
const synchronize = (text: string): string => `${control('?2026h')}${text}${control('?2026l')}`
const [toLineEnd, toScreenEnd] = [control('K'), control('J')]

/** The text that turns one frame into the next, empty where nothing changed. */
export function renderFrame(before: readonly string[], after: readonly string[]): string {
  const changed = after.length !== before.length || after.some((line, index) => line !== before[index])
  if (!changed) return ''
  const lines = after.map((line, index) => (line === before[index] ? '\n' : `${line}${toLineEnd}\n`)).join('')
  return synchronize(`${up(before.length)}${lines}${after.length < before.length ? toScreenEnd : ''}`)
}

const up = (rows: number): string => `${control('G')}${rows > 0 ? control(`${rows}A`) : ''}`

export function openScreen(terminal: Terminal): Screen {
  let drawn: readonly string[] = []
  let width = terminal.columns ?? 80
  const erase = (): string => `${up(drawn.length)}${toScreenEnd}`
  // A terminal that became narrower has wrapped our lines into more rows, and all of them must go.
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
    // Some terminals wrap a line that reaches the last column, and the cursor needs the last row.
    size: () => ({ width: width - 1, rows: Math.max(1, (terminal.rows ?? 24) - 1) }),
    draw(lines) {
      const frame = renderFrame(drawn, lines)
      drawn = [...lines]
      if (frame !== '') terminal.write(frame)
    },
    above(text) {
      const again = drawn.map((line) => `${line}\n`).join('')
      terminal.write(synchronize(`${erase()}${text}\n${again}`))
    },
    close() {
      terminal.off('resize', resize)
      process.off('exit', restore)
      restore()
    },
  }
}
