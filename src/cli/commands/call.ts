import type { CallAnswer, NewCall } from '../../wire/calls.ts'
import type { CreatedSession } from '../../wire/sessions.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { TielineError } from '../../client/tieline-error.ts'
import type { TielineClient } from '../../client/client.ts'
import { surroundings } from '../../client/surroundings.ts'
import { watchOptions } from '../chat/conversation.ts'
import { describeRun, endRun } from '../chat/end-run.ts'
import { isSilent, printError, printResult, type Command, type CommandInput } from '../command.ts'
import { cwdFlag, readCwd, readTask, readTimeout, timeoutFlag } from '../flags.ts'
import { reachLastingHere } from '../reach/lasting-server.ts'
import { mayTakeOver, openClient, withServer, type Reached } from '../reach/reach.ts'
import { describeFailure } from '../show/report.ts'
import { buildNodes } from '../show/tree.ts'
import { openWatch, type Watch } from '../show/watch.ts'
import { oneLine } from '../show/width.ts'

export const call: Command = {
  name: 'call',
  words: ['<agent>', '"<task>"'],
  help: 'Calls an agent and prints what it returns; shows everything below it on stderr',
  flags: {
    cwd: cwdFlag,
    timeout: timeoutFlag,
    background: { help: 'prints the id of the call at once; the call goes on' },
  },
  more: `
The agent gets only the task, in a fresh session, and may call others as its configuration allows. --json
prints the whole result of sub_agent.
Ctrl-C cancels the call and everything below it. With --background, the call runs to its deadline in a server that
outlives this command; "tieline flow ID --output" has its answer, and "tieline cancel ID" ends it.`,
  examples: [
    'tieline call reviewer "Look at the last commit"',
    'tieline call coder "Fix the failing test" --timeout 600 --json',
    'tieline call claude "Move the parser into a file of its own" --timeout 7200 --background',
  ],
  run: (input) => (input.flags['background'] === true ? beginCall(input) : runCall(input)),
}

function readCall(input: CommandInput): NewCall {
  const timeoutMs = readTimeout(input)
  return {
    agent: input.words[0] ?? '',
    task: readTask(input.words[1]),
    allow_nested_calls: true,
    ...(timeoutMs === null ? {} : { timeout_seconds: timeoutMs / 1000 }),
  }
}

const callerTitle = 'tieline call'

/** Its session stays: the result is told there. */
async function beginCall(input: CommandInput): Promise<number> {
  const call = { ...readCall(input), background: true }
  const { url, token } = await reachLastingHere(input)
  const client = openClient(url, token)
  const { signal } = input
  const caller = await client.sessions.create(
    { cwd: readCwd(input), agent: 'external', title: callerTitle },
    { signal, key: null },
  )
  const answer = await openClient(url, caller.token).calls.open(call, { signal, key: surroundings.draw() })
  printResult(input, answer, answer.call_id)
  const flow = await findFlow(client, answer.call_id)
  if (flow !== null && !isSilent(input)) input.err.write(`${describeRun(flow, url)}\n`)
  return 0
}

async function runCall(input: CommandInput): Promise<number> {
  const caller: Caller = { session: null, key: surroundings.draw(), refusal: null }
  const call = readCall(input)
  const { agent } = call
  const isJson = input.flags['json'] === true
  try {
    return await withServer(input, async (reached) => {
      const place = { client: () => reached.client, isOwn: () => reached.own !== null }
      const answer = await openCall(input, reached, caller, call).catch(async (error: unknown) => {
        // A refusal of this call was already shown, like any other end of a call.
        if (!(error instanceof TielineError) || error.message !== caller.refusal || isJson) throw error
        const end = { outcome: 'refused', error: error.message } as const
        printError(input.err, describeFailure(input, agent, end, true))
        await endRun(input, place, { flow: await findRequest(reached.client, caller), outcome: end.outcome })
        return null
      })
      if (answer === null) return 1
      printResult(input, answer, answer.output)
      const end = { outcome: answer.outcome ?? 'failed', error: answer.errors[0] ?? null }
      if (!answer.success && !isJson)
        printError(input.err, describeFailure(input, answer.agent_name, end, true))
      const flow = await findFlow(reached.client, answer.call_id)
      await endRun(input, place, { flow, outcome: end.outcome })
      return answer.success ? 0 : 1
    })
  } catch (error) {
    if (!input.signal.aborted) throw error
    printError(input.err, `${agent}: cancelled`)
    return 1
  }
}

/** Without one where it was stopped before it began. */
const findFlow = async (client: TielineClient, call: string): Promise<string | null> =>
  call === ''
    ? null
    : client.calls.get(call).then(
        ({ flow }) => flow,
        () => null,
      )

/** A call that was refused has no record in a flow; the request that asked for it is one. */
const findRequest = async (client: TielineClient, { session }: Caller): Promise<string | null> =>
  client.flows({ limit: 20 }).then(
    ({ flows }) => flows.find((flow) => flow.session === session?.sessionId)?.flow ?? null,
    () => null,
  )

/** The same for every try: the next server knows the call by its key, and gives its answer. */
type Caller = {
  session: CreatedSession | null
  key: string
  /** Why the call was refused, if that was shown. */
  refusal: string | null
}

async function openCall(
  input: CommandInput,
  reached: Reached,
  caller: Caller,
  call: NewCall,
): Promise<CallAnswer> {
  const { client } = reached
  const { signal } = input
  const session = { cwd: readCwd(input), agent: 'external', title: callerTitle }
  caller.session ??= await client.sessions.create(session, { signal, key: null })
  const { sessionId: from, token } = caller.session
  // Its own token proves who it is, also to a server that requires one.
  const asCaller = openClient(client.url, token)
  const over = new AbortController()
  let goesOn = false
  const watch = await openWatch(client, watchOptions(input, reached, { out: input.err, conversation: false }))
  try {
    watch.include(from)
    void noteMissingHosts(client, watch, over.signal).catch(() => undefined)
    return await watch.show(async () => {
      try {
        return await readWhole(client, await asCaller.calls.open(call, { signal, key: caller.key }))
      } finally {
        // The answer, or Ctrl-C, comes before the events that end the tree.
        await watch.settle()
        const refused = buildNodes(watch.tree()).find(({ outcome }) => outcome === 'refused')
        caller.refusal = refused?.errors[0] ?? null
      }
    })
  } catch (error) {
    goesOn = mayTakeOver(error, reached, 1, signal)
    throw error
  } finally {
    over.abort()
    await watch.close()
    // The session was only there to make this call; one that stays does no harm. Where the server has died, the next
    // one may be at the same address already, and goes on with the call.
    if (!goesOn) await client.sessions.archive(from).catch(() => undefined)
  }
}

/** A model is shown a part of a long output; a person and a program get all that is stored. */
async function readWhole(client: TielineClient, answer: CallAnswer): Promise<CallAnswer> {
  if (!answer.truncated || answer.call_id === '') return answer
  const { output, truncated } = await client.calls.get(answer.call_id)
  return { ...answer, output, truncated }
}

const queuedMsMax = 1000

/** An agent that stays queued may wait for a program that is not running. Each agent is looked up once. */
async function noteMissingHosts(client: TielineClient, watch: Watch, signal: AbortSignal): Promise<never> {
  for (const known = new Set<string>(); ;) {
    await systemClock.sleep(queuedMsMax, signal)
    const nodes = buildNodes(watch.tree()).filter(
      ({ state, agent }) => state === 'queued' && !known.has(agent),
    )
    const queued = new Set(nodes.map(({ agent }) => agent))
    const agents = queued.size === 0 ? [] : await client.agents({ signal })
    for (const { name } of agents.filter(({ name, driver }) => driver === 'host' && queued.has(name)))
      watch.note(
        `tieline: ${oneLine(name)} waits for a program to connect as this agent (its driver is "host"); ` +
          'start that program, or end this with Ctrl-C',
      )
    for (const agent of queued) known.add(agent)
  }
}
