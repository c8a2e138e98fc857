import type { CallAnswer, NewCall } from '../../wire/calls.ts'
import type { CreatedSession } from '../../wire/sessions.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { TielineError } from '../../client/tieline-error.ts'
import type { TielineClient } from '../../client/client.ts'
import { surroundings } from '../../client/surroundings.ts'
import { renderCommand, printJson, type Command, type CommandInput } from '../command.ts'
import { lastWords } from '../show/report.ts'
import { readCwd, readTask, timeoutFlag, readTimeout } from '../flags.ts'
import type { Reached } from '../reach/reach.ts'
import { buildNodes } from '../show/tree.ts'
import type { Watch } from '../show/watch.ts'
import { oneLine } from '../show/width.ts'

export const call: Command = {
  name: 'call',
  words: ['<agent>', '"<task>"'],
  help: 'Calls an agent and prints what it returns; everybody below it is shown on stderr',
  flags: {
    cwd: { value: 'DIR', help: 'the directory to work in; otherwise this one' },
    timeout: timeoutFlag,
  },
  more: [
    'The agent gets the task and nothing else, in a fresh session, and may call others as its configuration allows. With --json the whole result of sub_agent is printed.',
    'Ctrl-C cancels the call and everything below it.',
    '',
    'Examples:',
    '  tieline call reviewer "Look at the last commit"',
    '  tieline call coder "Fix the failing test" --timeout 600 --json',
  ],
  run: runCall,
}

async function runCall(input: CommandInput): Promise<number> {
  const timeoutMs = readTimeout(input)
  const { withServer } = await import('../reach/reach.ts')
  const caller: Caller = { session: null, key: surroundings.draw(), refusal: null }
  const [agent = ''] = input.words
  const task = readTask(input.words[1])
  try {
    return await withServer(input, async (reached) => {
      const answer = await answerTo(input, reached, caller, {
        agent,
        task,
        allow_nested_calls: true,
        ...(timeoutMs === null ? {} : { timeout_seconds: timeoutMs / 1000 }),
      })
      if (input.flags['json'] === true) printJson(input.out, answer)
      else if (answer.output !== '') input.out.write(renderCommand(answer.output))
      if (!answer.success && input.flags['json'] !== true)
        input.err.write(
          lastWords(
            input,
            answer.agent_name,
            { outcome: answer.outcome ?? 'failed', error: answer.errors[0] ?? null },
            true,
          ),
        )
      return answer.success ? 0 : 1
    })
  } catch (error) {
    // The refusal of this call was shown like any other end of a call.
    if (
      caller.refusal !== null &&
      error instanceof TielineError &&
      error.message === caller.refusal &&
      input.flags['json'] !== true
    ) {
      input.err.write(lastWords(input, agent, { outcome: 'refused', error: error.message }, true))
      return 1
    }
    if (!input.signal.aborted) throw error
    input.err.write(`tieline: ${agent}: cancelled\n`)
    return 1
  }
}

/**
 * The same for every try: a server that takes up where another one stopped knows the call by its key, and
 * gives its answer.
 */
type Caller = {
  session: CreatedSession | null
  key: string
  /** Why the call was not allowed, as far as that was shown. */
  refusal: string | null
}

async function answerTo(
  input: CommandInput,
  reached: Reached,
  caller: Caller,
  call: NewCall,
): Promise<CallAnswer> {
  const [{ watchOptions }, { openWatch }, { openClient }] = await Promise.all([
    import('../chat/conversation.ts'),
    import('../show/watch.ts'),
    import('../reach/reach.ts'),
  ])
  const { client } = reached
  caller.session ??= await client.sessions.create(
    { cwd: readCwd(input), agent: 'external', title: 'tieline call' },
    { signal: input.signal, key: null },
  )
  const { sessionId: from, token } = caller.session
  // With its own token it speaks for itself, also where the server believes nobody who only names it.
  const asCaller = openClient(client.url, token)
  const over = new AbortController()
  const watch = await openWatch(client, watchOptions(input, reached, { out: input.err, conversation: false }))
  try {
    watch.include(from)
    void saidWhoIsMissing(client, watch, over.signal).catch(() => undefined)
    return await watch.shown(async () => {
      try {
        return await asCaller.calls.open(call, { signal: input.signal, key: caller.key })
      } finally {
        // The answer, or our going, is known before the events that end the tree.
        await watch.settled()
        caller.refusal =
          buildNodes(watch.tree()).find(({ outcome }) => outcome === 'refused')?.errors[0] ?? null
      }
    })
  } finally {
    over.abort()
    await watch.close()
    // It was only there to make this call; that it stays harms nobody.
    await client.sessions.archive(from).catch(() => undefined)
  }
}

const queuedMsMax = 1000

/** What waits for its turn so long may wait for a program that nobody has started. */
async function saidWhoIsMissing(client: TielineClient, watch: Watch, signal: AbortSignal): Promise<void> {
  await systemClock.sleep(queuedMsMax, signal)
  const queued = buildNodes(watch.tree())
    .filter(({ state }) => state === 'queued')
    .map(({ agent }) => agent)
  const hosted =
    queued.length === 0
      ? []
      : (await client.agents({ signal })).filter(
          ({ name, driver }) => driver === 'host' && queued.includes(name),
        )
  for (const { name } of hosted)
    watch.note(
      `tieline: ${oneLine(name)} waits for a program to connect as this agent (its driver is "host"); start that program, or end this with Ctrl-C`,
    )
}
