/**
 * `elaborate` and `iterate` for a session whose conversation is opencode's: a fork of it, which knows what
 * the receiver does not, writes the text; then the fork is gone.
 * Where that fails, the server is asked as the model asked: it keeps the text as it is, and records why.
 */
import { disarm, frameDraft } from '../../model/frame.ts'
import type { Json } from '../../model/json.ts'
import type { KnownSessions, Taken } from './known-sessions.ts'
import { answered, type OpencodeClient, type ToolUseContext } from './opencode-api.ts'

export type ExpandingDeps = {
  opencode: OpencodeClient
  sessions: Pick<KnownSessions, 'aside'>
  report(text: string): void
}

type Used = { ok: boolean; value: Json }
type Args = Record<string, Json>

export const isExpanding = (name: string, args: Args): boolean =>
  name === 'send-message' && (args['elaborate'] === true || args['iterate'] === true)

export async function expandedMessage(
  deps: ExpandingDeps,
  { client }: Taken,
  args: Args,
  context: ToolUseContext,
  use: (input: Args) => Promise<Used>,
): Promise<Used> {
  const { elaborate: _elaborate, iterate, ...rest } = args
  const { id: known, message } = args
  const draft = args['draft'] === true
  // What is wrong with it, the server says.
  if (typeof message !== 'string' || (iterate === true && typeof known !== 'string')) return use(args)
  let text: string
  try {
    const before =
      iterate === true && typeof known === 'string' ? (await client.mail.get(known)).message : null
    text = await writtenAside(
      deps,
      context,
      before === null ? elaborating(message) : iterating(before, message),
    )
  } catch (error) {
    deps.report(
      `the message could not be written out: ${error instanceof Error ? error.message : String(error)}`,
    )
    return use(args)
  }
  if (iterate === true) return use({ ...rest, message: text, draft })
  // What was written first is kept as the message's beginning.
  const first = await use({ ...rest, draft: true })
  const id =
    first.ok && first.value !== null && typeof first.value === 'object' && !Array.isArray(first.value)
      ? first.value['id']
      : null
  return typeof id === 'string' ? use({ id, message: text, draft }) : first
}

const elaborating = (text: string): string =>
  `Write out the message below for a reader who does not know this conversation: say what is wanted, and give the facts, paths and decisions from above that it needs. Answer with nothing but the text of the message.\n${frameDraft(null, text)}`
const iterating = (text: string, instructions: string): string =>
  `Change the message below as these instructions say: ${disarm(instructions, null)}\nAnswer with nothing but the text of the message.\n${frameDraft(null, text)}`

async function writtenAside(
  { opencode, sessions }: ExpandingDeps,
  { sessionID, messageID, abort }: ToolUseContext,
  prompt: string,
): Promise<string> {
  return sessions.aside(sessionID, messageID, async (fork) => {
    const at = { path: { id: fork.id } }
    const stop = (): void => void opencode.session.abort(at).catch(() => undefined)
    abort.addEventListener('abort', stop, { once: true })
    try {
      const { parts } = await answered(
        opencode.session.prompt({
          ...at,
          body: { tools: { '*': false }, parts: [{ type: 'text', text: prompt }] },
        }),
        'write the message',
      )
      abort.throwIfAborted()
      const text = parts
        .flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : []))
        .join('')
        .trim()
      if (text === '') throw new Error('nothing was answered')
      return text
    } finally {
      abort.removeEventListener('abort', stop)
    }
  })
}
