/**
 * The one place that writes to a terminal. Whatever a command prints is made harmless here, so that a new
 * command cannot forget it:
 * nothing in it acts but what our own code marked with `control`, by a number that is drawn for this process
 * and that no agent knows.
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

/** `raw` is for programs on the other side, and for the line editor, which writes controls of its own. */
export type Output = Terminal & { isTTY?: boolean; raw?: NodeJS.WritableStream }

/**
 * As parameters of a control sequence, so that whatever measures a text takes it for one: those have up to
 * four digits each.
 */
const secret = BigInt(`0x${surroundings.draw()}`)
  .toString()
  .replaceAll(/\d{4}(?=\d)/g, '$&;')
const marked = new RegExp(`\\u001b\\[${secret};([?0-9;]*[A-Za-z])`, 'g')

/** A control sequence of ours, such as `1m` or `2A`. */
export const control = (code: string): string => `\u001b[${secret};${code}`

/** What a terminal is sent for a text: controls of ours act, all others are shown. */
export function rendered(text: string): string {
  let out = ''
  let from = 0
  for (const { 0: whole, 1: code = '', index } of text.matchAll(marked)) {
    out += `${visible(text.slice(from, index))}\u001b[${code}`
    from = index + whole.length
  }
  return out + visible(text.slice(from))
}

export type Stream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number }

export const outputTo = (stream: Stream): Output => ({
  raw: stream,
  write: (text) => stream.write(rendered(text)),
  on: (event, listener) => stream.on(event, listener),
  off: (event, listener) => stream.off(event, listener),
  // They change when somebody resizes a window.
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

export const stdout: Output = outputTo(process.stdout)
export const stderr: Output = outputTo(process.stderr)

// Whoever reads our output may stop reading (`| head`): there is nobody left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
