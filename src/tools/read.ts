/** `read`: a window of lines of a text file. */
import { read as readCallback, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { z } from 'zod'
import { badInput, type Refusal, isRefusal } from '../model/refusal.ts'
import { byteLength, cutBytes } from '../model/text.ts'
import { answered, Path, refused, workspaceTool, workplace } from './answer.ts'
import { resolveInside, withFile } from './containment.ts'

const shownBytesMax = 51_200
const linesDefault = 2000
const chunkBytes = 65_536
/** As far as is looked for a NUL byte, which text does not have. */
const sniffBytes = 8192
const newline = 0x0a

const Input = z.strictObject({
  path: Path.describe('File inside the working directory'),
  offset: z.int().min(1).default(1).describe('First line, from 1'),
  limit: z.int().min(1).default(linesDefault).describe('Number of lines'),
})

type Window = { text: string; binary: boolean; next: number | null; note: string; lines: number }

export const read = workspaceTool({
  name: 'read',
  effect: 'read',
  description:
    `Reads lines of a text file. At most ${shownBytesMax} bytes are returned; ` +
    'next_offset says where to go on.',
  input: Input,
  async run(input, context) {
    const inside = await resolveInside(workplace(context), input.path, 'path')
    if (isRefusal(inside)) return refused(inside)
    const answer = await withFile(inside, input.path, async (file, stat) => {
      const window = await readWindow(file, Number(stat.size), input.offset, input.limit, context.signal)
      return isRefusal(window) ? window : { bytes: Number(stat.size), ...window }
    })
    if (isRefusal(answer)) return refused(answer)
    const { bytes, text, binary, next: next_offset, note, lines } = answer
    const [path, first_line, truncated] = [inside.shown, input.offset, next_offset !== null || note !== '']
    return answered({ path, text, bytes, binary, first_line, lines, truncated, next_offset, note })
  },
})

async function readWindow(
  file: number,
  size: number,
  offset: number,
  limit: number,
  signal: AbortSignal,
): Promise<Window | Refusal> {
  const found = await collect(file, size, offset, limit, signal)
  if (found === 'binary') {
    const note = 'This is a binary file; its content is not shown.'
    return { text: '', binary: true, next: null, lines: 0, note }
  }
  if (found.ended && offset > 1 && offset > found.line) {
    const expected = found.line === 0 ? '1, since the file is empty,' : `a line from 1 to ${found.line}`
    return badInput('offset', offset, expected)
  }
  return cutWindow(found.bytes.toString('utf8'), offset, found.ended)
}

/** Shows whole lines, unless the first one alone is too long. */
function cutWindow(text: string, offset: number, ended: boolean): Window {
  const cut = cutBytes(text, shownBytesMax)
  const end = cut.truncated ? cut.text.lastIndexOf('\n') + 1 : text.length
  if (!cut.truncated || end > 0) {
    const whole = text.slice(0, end)
    const lines = countLines(whole)
    if (!cut.truncated && ended) return { text, binary: false, lines, next: null, note: '' }
    const next = offset + lines
    return { text: whole, binary: false, lines, next, note: `There is more: read on with offset ${next}.` }
  }
  const following = text.indexOf('\n') + 1
  const last = ended && (following === 0 || following === text.length)
  const note =
    `Line ${offset} is longer than ${shownBytesMax} bytes, and only its start (${byteLength(cut.text)} bytes) ` +
    `is shown; look into the rest of it with search.${last ? '' : ` Lines after it: offset ${offset + 1}.`}`
  return { text: cut.text, binary: false, lines: 1, next: last ? null : offset + 1, note }
}

function countLines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1
  return text === '' || text.endsWith('\n') ? count : count + 1
}

type Found = {
  bytes: Buffer
  /** Whether the end of the file was seen; if not, there is more. */
  ended: boolean
  /** The last line that was seen, from 1; 0 for an empty file. */
  line: number
}

const readLater = promisify(readCallback)

/** Reads in chunks and stops as soon as enough is there, so that the size of the file costs no memory. */
async function collect(
  file: number,
  size: number,
  offset: number,
  limit: number,
  signal: AbortSignal,
): Promise<Found | 'binary'> {
  const kept: Buffer[] = []
  let keptBytes = 0
  let ends = 0
  let open = false
  for (let position = 0; ;) {
    signal.throwIfAborted()
    const buffer = Buffer.alloc(Math.min(chunkBytes, Math.max(1, size - position + 1)))
    // Most files end in the first chunk, which is read at once; a long one must not hold up everybody.
    const bytesRead =
      position === 0
        ? readSync(file, buffer, 0, buffer.length, 0)
        : (await readLater(file, buffer, 0, buffer.length, position)).bytesRead
    if (bytesRead === 0) return { bytes: Buffer.concat(kept), ended: true, line: open ? ends + 1 : ends }
    const chunk = buffer.subarray(0, bytesRead)
    if (position === 0 && chunk.subarray(0, sniffBytes).includes(0)) return 'binary'
    position += bytesRead
    // A regular file gives less than was asked for only at its end.
    const last = bytesRead < buffer.length
    for (let at = 0; at < chunk.length;) {
      // Four bytes more than is shown: the cut then never falls into a code point that was read by half.
      const full = keptBytes >= shownBytesMax + 4
      // The first line is read to its end even when full, to know whether another one follows.
      if (ends + 1 >= offset + limit || (full && ends + 1 > offset))
        return { bytes: Buffer.concat(kept), ended: false, line: ends + 1 }
      const end = chunk.indexOf(newline, at)
      const next = end === -1 ? chunk.length : end + 1
      if (ends + 1 >= offset && !full) {
        kept.push(chunk.subarray(at, next))
        keptBytes += next - at
      }
      open = end === -1
      if (!open) ends += 1
      at = next
    }
    if (last) return { bytes: Buffer.concat(kept), ended: true, line: open ? ends + 1 : ends }
  }
}
