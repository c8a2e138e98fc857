import { describe, expect, test } from 'vitest'
import { renderFrame, openScreen } from './screen.ts'
import { renderControls, type Terminal } from './terminal.ts'

/**
 * A terminal in memory that understands what the screen writes: text, new lines, up, erase, and the cursor's
 * visibility.
 */
function fakeTerminal(columns: number) {
  const rows: string[] = ['']
  const listeners = new Set<() => void>()
  let [row, column, cursor, writes] = [0, 0, true, 0]
  const erase = (whole: boolean): void => {
    rows[row] = (rows[row] ?? '').slice(0, column)
    if (whole) rows.length = row + 1
  }
  const put = (char: string): void => {
    rows[row] =
      `${(rows[row] ?? '').padEnd(column).slice(0, column)}${char}${(rows[row] ?? '').slice(column + 1)}`
    column += 1
  }
  const control: Record<string, (count: number) => void> = {
    A: (count) => (row = Math.max(0, row - count)),
    G: () => (column = 0),
    K: () => erase(false),
    J: () => erase(true),
  }
  const terminal: Terminal = {
    columns,
    rows: 24,
    write(text) {
      writes += 1
      for (const [, private_, count, letter, char = ''] of renderControls(text)
        .replaceAll('\u001b', 'ESC')
        .matchAll(/ESC\[(\??)(\d*)([A-Za-z])|([\s\S])/g)) {
        if (private_ === '?' && count === '25') cursor = letter === 'h'
        else if (letter !== undefined) control[letter]?.(Number(count === '' ? 1 : count))
        else if (char === '\n') [row, column] = [row + 1, 0]
        else if (char === '\r') column = 0
        else put(char)
        rows[row] ??= ''
      }
    },
    on: (_, listener) => listeners.add(listener),
    off: (_, listener) => listeners.delete(listener),
  }
  return {
    terminal,
    shown: () => rows.map((line) => line.trimEnd()),
    cursor: () => cursor,
    writes: () => writes,
    resize: (to: number) => ((terminal.columns = to), listeners.forEach((listener) => listener())),
    listeners,
  }
}

describe('a screen', () => {
  test('shows the last frame in place of the one before, longer or shorter', () => {
    const { terminal, shown } = fakeTerminal(40)
    terminal.write('before\n')
    const screen = openScreen(terminal)
    screen.draw(['a', 'b'])
    screen.draw(['a', 'longer', 'c'])
    expect(shown()).toEqual(['before', 'a', 'longer', 'c', ''])
    screen.draw(['x'])
    expect(shown()).toEqual(['before', 'x', ''])
  })

  test('writes nothing where nothing changed, and only the lines that did', () => {
    expect(renderFrame(['a', 'b'], ['a', 'b'])).toBe('')
    expect(renderFrame(['same', 'old'], ['same', 'new'])).not.toContain('same')
  })

  test('prints a note above, and keeps what is drawn', () => {
    const { terminal, shown } = fakeTerminal(40)
    const screen = openScreen(terminal)
    screen.draw(['a', 'b'])
    screen.above('note')
    expect(shown()).toEqual(['note', 'a', 'b', ''])
    screen.draw(['a', 'c'])
    expect(shown()).toEqual(['note', 'a', 'c', ''])
  })

  test('hides the cursor while it is open, and leaves no listener behind', () => {
    const { terminal, cursor, listeners } = fakeTerminal(40)
    const exits = process.listenerCount('exit')
    const screen = openScreen(terminal)
    expect([cursor(), listeners.size, process.listenerCount('exit')]).toEqual([false, 1, exits + 1])
    screen.close()
    expect([cursor(), listeners.size, process.listenerCount('exit')]).toEqual([true, 0, exits])
  })

  test('draws everything again after the terminal changed its size', () => {
    const { terminal, shown, resize } = fakeTerminal(40)
    const screen = openScreen(terminal)
    screen.draw(['first', 'second'])
    resize(60)
    expect(screen.size().width).toBe(59)
    screen.draw(['first', 'second'])
    expect(shown()).toEqual(['first', 'second', ''])
  })
})
