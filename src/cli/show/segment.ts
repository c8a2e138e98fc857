/** A piece of a line and its style. Lines are measured and cut as plain text, and coloured last. */
import { control } from './terminal.ts'
import { cutWidth, displayWidth } from './width.ts'

export type Style = 'plain' | 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan'
export type Segment = { text: string; style: Style }

const codes: Readonly<Record<Style, readonly [number, number] | null>> = {
  plain: null,
  bold: [1, 22],
  dim: [2, 22],
  green: [32, 39],
  red: [31, 39],
  yellow: [33, 39],
  cyan: [36, 39],
}

export const segment = (text: string, style: Style = 'plain'): Segment => ({ text, style })

export function paint({ text, style }: Segment, colour: boolean): string {
  const code = codes[style]
  return code === null || !colour || text === ''
    ? text
    : `${control(`${code[0]}m`)}${text}${control(`${code[1]}m`)}`
}

/** `left` as far as it fits, then `right` at the far end; without `right` nothing is padded. */
export function joinSegments(
  { width, colour }: { width: number; colour: boolean },
  left: readonly Segment[],
  right: readonly Segment[] = [],
): string {
  const rightWidth = right.reduce((sum, part) => sum + displayWidth(part.text), 0)
  const leftMax = rightWidth === 0 ? width : Math.max(0, width - rightWidth - 2)
  const shown: Segment[] = []
  let used = 0
  for (const part of left) {
    const text = cutWidth(part.text, leftMax - used)
    shown.push({ ...part, text })
    used += displayWidth(text)
    if (text !== part.text) break
  }
  const gap = rightWidth === 0 ? '' : ' '.repeat(Math.max(0, width - rightWidth - used))
  return [...shown, segment(gap), ...right].map((part) => paint(part, colour)).join('')
}
