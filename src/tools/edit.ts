/** `edit`: replaces an exact piece of a text file. */
import { readFileSync } from 'node:fs'
import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import type { Json } from '../model/json.ts'
import { badInput, type Refusal, isRefusal } from '../model/refusal.ts'
import { byteLength } from '../model/text.ts'
import { answered, Path, refused, Text, workspaceTool, workplace } from './answer.ts'
import { resolveInside, withFile, type Inside } from './containment.ts'
import { inTurn, replaceFile, type Version } from './replace-file.ts'
import { splitGently } from './split-text.ts'

const bytesMax = 4_194_304

const Input = z.strictObject({
  path: Path.describe('Existing file inside the working directory'),
  old: Text.min(1, 'the exact text to replace, which is not empty,').describe(
    'The exact text to replace, with its white space',
  ),
  new: Text.describe('What stands there afterwards'),
  all: z.boolean().default(false).describe('Replace every occurrence; otherwise there must be exactly one'),
})
type Input = z.infer<typeof Input>

export const edit = workspaceTool({
  name: 'edit',
  effect: 'write',
  description:
    'Replaces an exact piece of text in a file. Refused unless it occurs exactly once, or all is true.',
  input: Input,
  async run(input, context) {
    if (input.old === input.new) return refused(badInput('new', input.new, 'a text that differs from old'))
    const inside = await resolveInside(workplace(context), input.path, 'path')
    if (isRefusal(inside)) return refused(inside)
    const edited = await inTurn(inside.path, () => replaceIn(inside, input, context.signal))
    return isRefusal(edited) ? refused(edited) : answered(edited.value)
  },
})

async function replaceIn(
  inside: Inside,
  input: Input,
  signal: AbortSignal,
): Promise<{ value: Json } | Refusal> {
  const file = await readText(inside, input.path)
  if (isRefusal(file)) return file
  const pieces = await splitGently(file.text, input.old)
  signal.throwIfAborted()
  const matches = pieces.length - 1
  if (matches === 0)
    return badInput(
      'old',
      input.old,
      `text that occurs in ${inside.shown}, where it has 0 matches${explainMiss(file.text, input.old)},`,
    )
  if (matches > 1 && !input.all) {
    const hint = 'give more of the text around it, or set all to true'
    const expected = `text that occurs once in ${inside.shown}, where it has ${matches} matches (${hint}),`
    return badInput('old', input.old, expected)
  }
  // Counted before it is joined: a short piece with many matches could otherwise grow past what memory holds.
  const bytes = byteLength(file.text) + matches * (byteLength(input.new) - byteLength(input.old))
  if (bytes > bytesMax) return { code: 'too_large', field: 'new', bytes, bytesMax }
  const written = await replaceFile(inside, input.path, pieces.join(input.new), signal, file.version)
  return isRefusal(written)
    ? written
    : { value: { path: inside.shown, replacements: matches, bytes: written.bytes } }
}

function readText(inside: Inside, given: string): Promise<{ text: string; version: Version } | Refusal> {
  return withFile(inside, given, async (file, stat) => {
    if (stat.size > bytesMax) return badInput('path', given, `a file of at most ${bytesMax} bytes`)
    const data = readFileSync(file)
    // Decoding and encoding must give every other byte back as it was.
    if (!isUtf8(data) || data.includes(0)) return badInput('path', given, 'a text file in UTF-8')
    return { text: data.toString('utf8'), version: stat }
  })
}

const explainMiss = (text: string, old: string): string =>
  old.includes('\n') && !old.includes('\r\n') && text.includes('\r\n')
    ? ' (its lines end in \\r\\n)'
    : ' (read it again and copy it exactly)'
