/**
 * `elaborate` and `iterate` for a session whose conversation is opencode's: a fork of it, which knows what
 * the receiver does not, writes the text; then the fork is gone. If that fails, the server is asked as the
 * model asked: it keeps the text as it is, and records why.
 */
import { disarm, frameDraft } from '../../model/frame.ts'
import { faultMessage } from '../../model/contained.ts'
import { textAt, type Json } from '../../model/json.ts'
import type { UsedTool } from '../../wire/tools.ts'
import type { KnownSessions, Taken } from './known-sessions.ts'
import { answered, type OpencodeClient, type ToolUseContext } from './opencode-api.ts'

export type ExpandingDeps = {
  opencode: OpencodeClient
  sessions: Pick<KnownSessions, 'aside'>
  report(text: string): void
}

type Args = Record<string, Json>

export const isExpanding = (name: string, args: Args): boolean =>
  name === 'send-message' && (args['elaborate'] === true || args['iterate'] === true)

export async function expandedMessage(
  deps: ExpandingDeps,
  { client }: Taken,
  args: Args,
  context: ToolUseContext,
  use: (input: Args) => Promise<UsedTool>,
): Promise<UsedTool> {
  const { elaborate: _elaborate, iterate, ...rest } = args
  const { id: known, message } = args
  const draft = args['draft'] === true
  // What is wrong with it, the server says.
  if (typeof message !== 'string' || (iterate === true && typeof known !== 'string')) return use(args)
  let text: string
  try {
    const prompt =
      iterate === true && typeof known === 'string'
        ? askIterate((await client.mail.get(known)).message, message)
        : askElaborate(message)
    text = await writeAside(deps, context, prompt)
  } catch (error) {
    deps.report(`the message could not be written out: ${faultMessage(error)}`)
    return use(args)
  }
  if (iterate === true) return use({ ...rest, message: text, draft })
  // What was written first is kept as the message's beginning.
  const first = await use({ ...rest, draft: true })
  const id = first.ok ? textAt(first.value, 'id') : ''
  return id === '' ? first : use({ id, message: text, draft })
}

const onlyText = 'Answer with nothing but the text of the message.'
const askElaborate = (text: string): string =>
  'Write out the message below for a reader who does not know this conversation: ' +
  'say what is wanted, and give the facts, paths and decisions from above that it needs. ' +
  `${onlyText}\n${frameDraft(null, text)}`
const askIterate = (text: string, instructions: string): string =>
  `Change the message below as these instructions say: ${disarm(instructions, null)}\n` +
  `${onlyText}\n${frameDraft(null, text)}`

async function writeAside(
  { opencode, sessions }: ExpandingDeps,
  { sessionID, messageID, abort }: ToolUseContext,
  prompt: string,
): Promise<string> {
  return sessions.aside(sessionID, messageID, async (fork) => {
    const at = { path: { id: fork.id } }
    const stop = (): void => void opencode.session.abort(at).catch(() => undefined)
    abort.throwIfAborted()
    abort.addEventListener('abort', stop, { once: true })
    try {
      const body = { tools: { '*': false }, parts: [{ type: 'text' as const, text: prompt }] }
      const { parts } = await answered(opencode.session.prompt({ ...at, body }), 'write the message')
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
