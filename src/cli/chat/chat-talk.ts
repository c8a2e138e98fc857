/** The conversation itself: lines in, answers out. Calls are shown as they happen; commands begin with a slash. */
import { endRun } from './end-run.ts'
import { describeError, TielineError } from '../../client/tieline-error.ts'
import { describeEnd } from '../show/amounts.ts'
import { readCommandName, runChatCommand } from './chat-commands.ts'
import { isSilent, printError, printJson, printResult, wantsColour, wantsLive } from '../command.ts'
import type { CommandInput } from '../command.ts'
import { openConversation, type Conversation } from './conversation.ts'
import { readPipe, readTerminal, type Lines } from './prompt.ts'
import { collectCalls } from '../show/report.ts'
import { paint, segment } from '../show/segment.ts'
import type { WorkResult } from '../show/watch.ts'
import { oneLine } from '../show/width.ts'

export async function runChat(input: CommandInput): Promise<number> {
  const { out, env } = input
  const leaving = new AbortController()
  const signal = AbortSignal.any([input.signal, leaving.signal])
  const typed = input.in ?? process.stdin
  const interactive = typed.isTTY === true && out.isTTY === true
  const silent = isSilent(input)
  const lines = interactive ? readTerminal(typed, out, wantsLive(out, env) && !silent) : readPipe(typed)
  try {
    const conversation = await openConversation({ ...input, signal }, { out, conversation: true, lines })
    try {
      if (!silent) out.write(`${greet(conversation, interactive)}\n`)
      const prompt = silent ? '' : `${conversation.agent}> `
      const talk = { input, conversation, lines, leaving, signal, interactive, prompt, waiting: [] }
      const answered = await runTalk(talk)
      return signal.aborted ? 130 : interactive || answered ? 0 : 1
    } finally {
      await conversation.close()
    }
  } finally {
    lines.close()
  }
}

const help = '\n/help lists the commands, /quit leaves, Ctrl-C cancels what the agent does.'

const greet = ({ agent, cwd, session }: Conversation, interactive: boolean): string =>
  `${agent} in ${cwd}, ${session}${interactive ? help : ''}`

type Turn = (signal: AbortSignal) => Promise<WorkResult>
type Next = Turn | 'nothing' | 'leave'
type Talk = {
  input: CommandInput
  conversation: Conversation
  lines: Lines
  leaving: AbortController
  signal: AbortSignal
  interactive: boolean
  prompt: string
  /** What was typed while the agent worked. */
  waiting: { text: string; work: Turn }[]
}

/** Returns whether every message was answered. */
async function runTalk(talk: Talk): Promise<boolean> {
  let answered = true
  let last: WorkResult | null = null
  const readNext = openReader(talk)
  while (!talk.signal.aborted) {
    const work = takeWaiting(talk) ?? (await readNext())
    if (work === 'leave') break
    if (work === 'nothing') continue
    const result = await runTurn(talk, work)
    if (result === null) break
    answered = showResult(talk, result) && answered
    if (!(result instanceof TielineError)) last = result
  }
  if (last !== null && talk.interactive) await endRun(talk.input, talk.conversation, last)
  return answered
}

/** Shows the message at the prompt, as if it were typed now. */
function takeWaiting({ waiting, prompt, input }: Talk): Turn | null {
  const next = waiting.shift()
  if (next !== undefined && prompt !== '')
    input.out.write(`${paintPrompt(prompt, input)}${oneLine(next.text)}\n`)
  return next?.work ?? null
}

const paintPrompt = (prompt: string, { out, env }: CommandInput): string =>
  paint(segment(prompt, 'bold'), wantsColour(out, env))

/** Reads the next line at the prompt, as work. */
function openReader({ input, conversation, lines, leaving, signal, prompt }: Talk): () => Promise<Next> {
  let interrupted = false
  return async () => {
    const line = await lines.next(paintPrompt(prompt, input), signal)
    if (line === null || signal.aborted) return 'leave'
    if (line === 'interrupted') {
      if (interrupted) leaving.abort()
      else input.out.write('(Ctrl-C again leaves; /quit does too)\n')
      interrupted = true
      return 'nothing'
    }
    interrupted = false
    if (line.text.trim() === '') return 'nothing'
    return line.text.startsWith('/')
      ? runCommand(conversation, line.text, (text) => void input.out.write(`${text}\n`))
      : planSend(conversation, line.text)
  }
}

const planSend =
  (conversation: Conversation, text: string): Turn =>
  (signal) =>
    conversation.send(text, null, signal)

/** Prints what a command says. Accepting a message is work like any other. */
async function runCommand(
  conversation: Conversation,
  line: string,
  print: (text: string) => void,
): Promise<Next> {
  const said = await runChatCommand(conversation, line)
  if (said === null) return 'leave'
  print(said.lines.join('\n'))
  const { accept } = said
  return accept === undefined ? 'nothing' : (signal) => conversation.accept(accept, signal)
}

/**
 * The first Ctrl-C cancels the turn, and so does /quit; the second leaves without waiting for it. Returns null
 * when the user left. A refusal is an answer too: the conversation goes on.
 */
async function runTurn(talk: Talk, work: Turn): Promise<WorkResult | TielineError | null> {
  const { input, lines, leaving, signal, prompt } = talk
  const stop = new AbortController()
  const left = Promise.withResolvers<null>()
  let quitting = false
  const cancel = (): void => {
    dropWaiting(talk)
    if (!stop.signal.aborted) return stop.abort()
    leaving.abort()
    left.resolve(null)
  }
  const quit = (): void => {
    quitting = true
    cancel()
  }
  const commands: Promise<void>[] = []
  const releaseInterrupt = input.onInterrupt?.(cancel)
  const stopListening = lines.during(prompt, handleTyped(talk, commands, quit))
  const ended = work(AbortSignal.any([stop.signal, signal])).catch((error: unknown) => {
    if (error instanceof TielineError) return error
    throw error
  })
  ended.catch(() => undefined)
  try {
    const result = await Promise.race([ended, left.promise])
    if (result !== null) await Promise.all(commands)
    return quitting ? null : result
  } finally {
    stopListening()
    releaseInterrupt?.()
  }
}

/**
 * While the agent works, commands run at once, and a message waits. A pipe is a script, in which only /cancel
 * cannot wait.
 */
function handleTyped(talk: Talk, commands: Promise<void>[], quit: () => void): (line: string) => boolean {
  const { conversation, interactive, waiting } = talk
  const wait = (text: string, work: Turn): void => {
    waiting.push({ text, work })
    conversation.note(`(queued, ${conversation.agent} gets it after this: ${oneLine(text)})`)
  }
  return (line) => {
    const name = readCommandName(line)
    if (!interactive && name !== 'cancel') return false
    if (name === 'quit') quit()
    else if (name !== null) commands.push(runCommandNow(talk, line, (work) => wait(line, work)))
    else if (line.trim() !== '') wait(line, planSend(conversation, line))
    return true
  }
}

async function runCommandNow(talk: Talk, line: string, wait: (work: Turn) => void): Promise<void> {
  const { conversation } = talk
  if (readCommandName(line) === 'cancel') dropWaiting(talk)
  try {
    const work = await runCommand(conversation, line, (text) => conversation.note(text))
    if (typeof work === 'function') wait(work)
  } catch (error) {
    conversation.note(`tieline: ${describeError(error)}`)
  }
}

/** After a cancel nothing more begins. */
function dropWaiting({ waiting, conversation }: Talk): void {
  for (const { text } of waiting.splice(0)) conversation.note(`(not sent: ${oneLine(text)})`)
}

/** Returns whether it was a success. */
function showResult({ input, conversation }: Talk, result: WorkResult | TielineError): boolean {
  const { agent } = conversation
  const isJson = input.flags['json'] === true
  if (result instanceof TielineError) {
    const { code, message, field, details } = result
    if (isJson) printJson(input.out, { error: { code, message, field, details } })
    else printError(input.err, message)
    return false
  }
  printResult(input, { agent, ...result, calls: collectCalls(conversation.tree()) }, result.output)
  if (!result.success && !isJson)
    (isSilent(input) ? input.err : input.out).write(
      `${agent}: ${describeEnd(result.outcome, result.error)}\n`,
    )
  return result.success
}
