/** The conversation itself: lines in, answers out. Calls are shown as they happen; commands begin with a slash. */
import { endWords } from './amounts.ts'
import { chatCommand } from './chat-commands.ts'
import { isSilent, lineOf, printJson, wantsColour, type CommandInput } from './command.ts'
import { openConversation, type Conversation } from './conversation.ts'
import { pipedLines, terminalLines, type Lines } from './prompt.ts'
import { callsOf } from './report.ts'
import { paint, segment } from './segment.ts'
import type { WorkResult } from './watch.ts'

export async function runChat(input: CommandInput): Promise<number> {
  const leaving = new AbortController()
  const signal = AbortSignal.any([input.signal, leaving.signal])
  const typed = input.in ?? process.stdin
  const interactive = typed.isTTY === true && input.out.isTTY === true
  const lines = interactive ? terminalLines(typed, input.out) : pipedLines(typed)
  try {
    const conversation = await openConversation({ ...input, signal }, { out: input.out, conversation: true })
    try {
      if (!isSilent(input)) input.out.write(`${greeting(conversation, interactive)}\n`)
      const talked = await talk({ input, conversation, lines, leaving, signal })
      return signal.aborted ? 130 : interactive || talked ? 0 : 1
    } finally {
      await conversation.close()
    }
  } finally {
    lines.close()
  }
}

const greeting = ({ agent, cwd, session }: Conversation, interactive: boolean): string => `${agent} in ${cwd}, ${session}${interactive ? '\n/help lists the commands, /quit leaves.' : ''}`

type Talk = { input: CommandInput; conversation: Conversation; lines: Lines; leaving: AbortController; signal: AbortSignal }

/** Whether every message was answered. */
async function talk({ input, conversation, lines, leaving, signal }: Talk): Promise<boolean> {
  let answered = true
  const prompt = isSilent(input) ? '' : paint(segment(`${conversation.agent}> `, 'bold'), wantsColour(input.out, input.env))
  for (let interrupted = false; !signal.aborted; ) {
    const line = await lines.next(prompt, signal)
    if (line === null || signal.aborted) break
    if (line === 'interrupted') {
      if (interrupted) leaving.abort()
      else input.out.write('(Ctrl-C again leaves; /quit does too)\n')
      interrupted = true
      continue
    }
    interrupted = false
    if (line.text.trim() === '') continue
    if (line.text.startsWith('/')) {
      const said = await chatCommand(conversation, line.text)
      if (said === null) break
      input.out.write(`${said.join('\n')}\n`)
      continue
    }
    const result = await turn(input, conversation, line.text, { leaving, signal })
    if (result === null) break
    show(input, conversation, result)
    answered &&= result.success
  }
  return answered
}

/** The first Ctrl-C cancels the turn; the second does not wait for it any more, and leaves. Null where somebody left. */
async function turn(input: CommandInput, conversation: Conversation, text: string, { leaving, signal }: Pick<Talk, 'leaving' | 'signal'>): Promise<WorkResult | null> {
  const stop = new AbortController()
  const left = Promise.withResolvers<null>()
  const release = input.onInterrupt?.(() => {
    if (!stop.signal.aborted) return stop.abort()
    leaving.abort()
    left.resolve(null)
  })
  const ended = conversation.send(text, null, AbortSignal.any([stop.signal, signal]))
  ended.catch(() => undefined)
  try {
    return await Promise.race([ended, left.promise])
  } finally {
    release?.()
  }
}

function show(input: CommandInput, conversation: Conversation, result: WorkResult): void {
  if (input.flags['json'] === true) return printJson(input.out, { agent: conversation.agent, ...result, calls: callsOf(conversation.tree()) })
  if (result.output !== '') input.out.write(lineOf(result.output))
  if (!result.success) (isSilent(input) ? input.err : input.out).write(`${conversation.agent}: ${endWords(result.outcome, result.error)}\n`)
}
