/** `write`: creates or replaces a whole file. */
import { z } from 'zod'
import { badInput, isRefusal } from '../model/refusal.ts'
import { byteLength } from '../model/text.ts'
import { answered, Path, refused, Text, workspaceTool, workplace } from './answer.ts'
import { resolveInside } from './containment.ts'
import { inTurn, replaceFile } from './replace-file.ts'

const bytesMax = 4_194_304

const Input = z.strictObject({
  path: Path.describe('File inside the working directory; missing directories are created'),
  content: Text.describe('The whole new content'),
})

export const write = workspaceTool({
  name: 'write',
  effect: 'write',
  description: 'Writes a file, replacing all that was in it. To change a part of a file, use edit.',
  input: Input,
  async run(input, context) {
    const bytes = byteLength(input.content)
    if (bytes > bytesMax) return refused({ code: 'too_large', field: 'content', bytes, bytesMax })
    if (input.path.endsWith('/'))
      return refused(badInput('path', input.path, 'the path of a file, without "/" at its end,'))
    const inside = await resolveInside(workplace(context), input.path, 'path')
    if (isRefusal(inside)) return refused(inside)
    const written = await inTurn(inside.path, () =>
      replaceFile(inside, input.path, input.content, context.signal),
    )
    return isRefusal(written)
      ? refused(written)
      : answered({ path: inside.shown, bytes: written.bytes, created: written.created })
  },
})
