/** The conversation itself: lines in, answers out. Calls are shown as they happen; commands begin with a slash. */
import { TielineError } from '../client/tieline-error.ts'
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
    const work = line.text.startsWith('/') ? await commanded(input, conversation, line.text) : line.text.trim() === '' ? 'nothing' : sent(conversation, line.text)
    if (work === 'leave') break
    if (work === 'nothing') continue
    const result = await turn(input, work, { leaving, signal })
    if (result === null) break
    answered = shown(input, conversation, result) && answered
  }
  return answered
}

type Turn = (signal: AbortSignal) => Promise<WorkResult>

const sent = (conversation: Conversation, text: string): Turn => (signal) => conversation.send(text, null, signal)

/** What a line with a slash says is printed; to accept a message is work like any other. */
async function commanded({ out }: CommandInput, conversation: Conversation, line: string): Promise<Turn | 'nothing' | 'leave'> {
  const said = await chatCommand(conversation, line)
  if (said === null) return 'leave'
  out.write(`${said.lines.join('\n')}\n`)
  const { accept } = said
  return accept === undefined ? 'nothing' : (signal) => conversation.accept(accept, signal)
}

/** The first Ctrl-C cancels the turn; the second does not wait for it any more, and leaves. Null where somebody left. A no of the server is an answer too: one can go on. */
async function turn(input: CommandInput, work: Turn, { leaving, signal }: Pick<Talk, 'leaving' | 'signal'>): Promise<WorkResult | TielineError | null> {
  const stop = new AbortController()
  const left = Promise.withResolvers<null>()
  const release = input.onInterrupt?.(() => {
    if (!stop.signal.aborted) return stop.abort()
    leaving.abort()
    left.resolve(null)
  })
  const ended = work(AbortSignal.any([stop.signal, signal])).catch((error: unknown) => {
    if (error instanceof TielineError) return error
    throw error
  })
  ended.catch(() => undefined)
  try {
    return await Promise.race([ended, left.promise])
  } finally {
    release?.()
  }
}

/** Whether it was a success. */
function shown(input: CommandInput, conversation: Conversation, result: WorkResult | TielineError): boolean {
  const { agent } = conversation
  if (result instanceof TielineError) {
    if (input.flags['json'] === true) printJson(input.out, { error: { code: result.code, message: result.message, field: result.field, details: result.details } })
    else input.err.write(`tieline: ${result.message}\n`)
    return false
  }
  if (input.flags['json'] === true) printJson(input.out, { agent, ...result, calls: callsOf(conversation.tree()) })
  else if (result.output !== '') input.out.write(lineOf(result.output))
  if (!result.success && input.flags['json'] !== true) (isSilent(input) ? input.err : input.out).write(`${agent}: ${endWords(result.outcome, result.error)}\n`)
  return result.success
}
