/**
 * The conversation itself: lines in, answers out. Calls are shown as they happen; commands begin with a
 * slash.
 */
import { TielineError } from '../../client/tieline-error.ts'
import { endWords } from '../show/amounts.ts'
import { chatCommand, commandNamed } from './chat-commands.ts'
import { isSilent, renderCommand, printJson, wantsColour, wantsLive, type CommandInput } from '../command.ts'
import { openConversation, type Conversation } from './conversation.ts'
import { pipedLines, terminalLines, type Lines } from './prompt.ts'
import { collectCalls } from '../show/report.ts'
import { paint, segment } from '../show/segment.ts'
import type { WorkResult } from '../show/watch.ts'
import { oneLine } from '../show/width.ts'

export async function runChat(input: CommandInput): Promise<number> {
  const leaving = new AbortController()
  const signal = AbortSignal.any([input.signal, leaving.signal])
  const typed = input.in ?? process.stdin
  const interactive = typed.isTTY === true && input.out.isTTY === true
  const lines = interactive
    ? terminalLines(typed, input.out, wantsLive(input.out, input.env) && !isSilent(input))
    : pipedLines(typed)
  try {
    const conversation = await openConversation(
      { ...input, signal },
      { out: input.out, conversation: true, lines },
    )
    try {
      if (!isSilent(input)) input.out.write(`${greeting(conversation, interactive)}\n`)
      const prompt = isSilent(input) ? '' : `${conversation.agent}> `
      const talked = await talk({
        input,
        conversation,
        lines,
        leaving,
        signal,
        interactive,
        prompt,
        waiting: [],
      })
      return signal.aborted ? 130 : interactive || talked ? 0 : 1
    } finally {
      await conversation.close()
    }
  } finally {
    lines.close()
  }
}

const greeting = ({ agent, cwd, session }: Conversation, interactive: boolean): string =>
  `${agent} in ${cwd}, ${session}${interactive ? '\n/help lists the commands, /quit leaves, Ctrl-C cancels what the agent does.' : ''}`

type Turn = (signal: AbortSignal) => Promise<WorkResult>
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

/** Whether every message was answered. */
async function talk(here: Talk): Promise<boolean> {
  const { input, conversation, signal } = here
  let answered = true
  const next = nextOf(here)
  while (!signal.aborted) {
    const work = waitingWork(here) ?? (await next())
    if (work === 'leave') break
    if (work === 'nothing') continue
    const result = await turn(here, work)
    if (result === null) break
    answered = shown(input, conversation, result) && answered
  }
  return answered
}

/** It stands where it would have been typed. */
function waitingWork({ waiting, prompt, input }: Talk): Turn | null {
  const next = waiting.shift()
  if (next !== undefined && prompt !== '')
    input.out.write(`${coloured(prompt, input)}${oneLine(next.text)}\n`)
  return next?.work ?? null
}

const coloured = (prompt: string, { out, env }: CommandInput): string =>
  paint(segment(prompt, 'bold'), wantsColour(out, env))

/** The next line that somebody types at the prompt, as work. */
function nextOf({
  input,
  conversation,
  lines,
  leaving,
  signal,
  prompt,
}: Talk): () => Promise<Turn | 'nothing' | 'leave'> {
  let interrupted = false
  return async () => {
    const line = await lines.next(coloured(prompt, input), signal)
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
      ? commanded(conversation, line.text, (text) => void input.out.write(`${text}\n`))
      : sent(conversation, line.text)
  }
}

const sent =
  (conversation: Conversation, text: string): Turn =>
  (signal) =>
    conversation.send(text, null, signal)

/** What a line with a slash says is printed; to accept a message is work like any other. */
async function commanded(
  conversation: Conversation,
  line: string,
  print: (text: string) => void,
): Promise<Turn | 'nothing' | 'leave'> {
  const said = await chatCommand(conversation, line)
  if (said === null) return 'leave'
  print(said.lines.join('\n'))
  const { accept } = said
  return accept === undefined ? 'nothing' : (signal) => conversation.accept(accept, signal)
}

/**
 * The first Ctrl-C cancels the turn, and so does /quit; the second does not wait for it any more, and leaves.
 * Null where somebody left. A no of the server is an answer too: one can go on.
 */
async function turn(here: Talk, work: Turn): Promise<WorkResult | TielineError | null> {
  const { input, lines, leaving, signal, prompt } = here
  const stop = new AbortController()
  const left = Promise.withResolvers<null>()
  let quitting = false
  const cancel = (): void => {
    forget(here)
    if (!stop.signal.aborted) return stop.abort()
    leaving.abort()
    left.resolve(null)
  }
  const commands: Promise<void>[] = []
  const release = input.onInterrupt?.(cancel)
  const unheard = lines.during(
    prompt,
    heard(here, commands, () => {
      quitting = true
      cancel()
    }),
  )
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
    unheard()
    release?.()
  }
}

/**
 * What is typed while the agent works: commands are done at once, a message waits. A pipe is a script, in
 * which only /cancel cannot wait.
 */
function heard(here: Talk, commands: Promise<void>[], quit: () => void): (line: string) => boolean {
  const { conversation, interactive, waiting } = here
  const wait = (text: string, work: Turn): void => {
    waiting.push({ text, work })
    conversation.note(`(queued, ${conversation.agent} gets it after this: ${oneLine(text)})`)
  }
  return (line) => {
    const name = commandNamed(line)
    if (!interactive && name !== 'cancel') return false
    if (name === 'quit') quit()
    else if (name !== null) commands.push(commandedNow(here, line, (work) => wait(line, work)))
    else if (line.trim() !== '') wait(line, sent(conversation, line))
    return true
  }
}

async function commandedNow(here: Talk, line: string, wait: (work: Turn) => void): Promise<void> {
  const { conversation } = here
  if (commandNamed(line) === 'cancel') forget(here)
  try {
    const work = await commanded(conversation, line, (text) => conversation.note(text))
    if (typeof work === 'function') wait(work)
  } catch (error) {
    conversation.note(`tieline: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Whoever cancels wants nothing more to begin. */
function forget({ waiting, conversation }: Talk): void {
  for (const { text } of waiting.splice(0)) conversation.note(`(not sent: ${oneLine(text)})`)
}

/** Whether it was a success. */
function shown(input: CommandInput, conversation: Conversation, result: WorkResult | TielineError): boolean {
  const { agent } = conversation
  if (result instanceof TielineError) {
    if (input.flags['json'] === true)
      printJson(input.out, {
        error: { code: result.code, message: result.message, field: result.field, details: result.details },
      })
    else input.err.write(`tieline: ${result.message}\n`)
    return false
  }
  if (input.flags['json'] === true)
    printJson(input.out, { agent, ...result, calls: collectCalls(conversation.tree()) })
  else if (result.output !== '') input.out.write(renderCommand(result.output))
  if (!result.success && input.flags['json'] !== true)
    (isSilent(input) ? input.err : input.out).write(`${agent}: ${endWords(result.outcome, result.error)}\n`)
  return result.success
}
