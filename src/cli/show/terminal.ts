/**
 * The only place that writes to a terminal. Everything that a command prints is made harmless here, so that a
 * new command cannot forget it: only sequences that our own code marked with `control` act. The mark is a
 * random number of this process, which no agent knows.
 */
import { surroundings } from '../../client/surroundings.ts'
import { visible } from '../../model/visible.ts'

export type Terminal = {
  write(text: string): unknown
  columns?: number
  rows?: number
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

/** `raw` is for programs that read the output, and for the line editor, which writes its own sequences. */
export type Output = Terminal & { isTTY?: boolean; raw?: NodeJS.WritableStream }

/** Drawn with the first sequence: before that there is none to look for, and whoever asks for help needs none. */
let mark: { secret: string; pattern: RegExp } | null = null

/** Written as parameters of up to four digits, so that code that measures text sees one control sequence. */
function drawMark(): { secret: string; pattern: RegExp } {
  const secret = BigInt(`0x${surroundings.draw()}`)
    .toString()
    .replaceAll(/\d{4}(?=\d)/g, '$&;')
  return { secret, pattern: new RegExp(`\\u001b\\[${secret};([?0-9;]*[A-Za-z])`, 'g') }
}

/** A control sequence that acts, such as `1m` or `2A`. */
export const control = (code: string): string => `\u001b[${(mark ??= drawMark()).secret};${code}`

/** What a terminal gets: marked sequences act, all others are shown. */
export function renderControls(text: string): string {
  if (mark === null) return visible(text)
  let out = ''
  let from = 0
  for (const { 0: whole, 1: code = '', index } of text.matchAll(mark.pattern)) {
    out += `${visible(text.slice(from, index))}\u001b[${code}`
    from = index + whole.length
  }
  return out + visible(text.slice(from))
}

type Stream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number }

export const openOutput = (stream: Stream): Output => ({
  raw: stream,
  write: (text) => stream.write(renderControls(text)),
  on: (event, listener) => stream.on(event, listener),
  off: (event, listener) => stream.off(event, listener),
  // Getters, because they change with the window.
  get columns() {
    return stream.columns as number
  },
  get rows() {
    return stream.rows as number
  },
  get isTTY() {
    return stream.isTTY === true
  },
})

export const stdout: Output = openOutput(process.stdout)
export const stderr: Output = openOutput(process.stderr)

// The reader of our output may have left (`| head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
// Nobody reads what went wrong any more: that alone is no reason to stop.
process.stderr.on('error', () => undefined)
