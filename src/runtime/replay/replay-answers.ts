/**
 * Where the answers of a replayed turn come from: its steps, tools and calls find in the record what they
 * were told, and run nothing.
 */
import type { Event, EventOf, StoredEvent, Usage } from '../../model/event.ts'
import type { Moved } from '../../model/fallback.ts'
import { toTurnId, type CallId } from '../../model/id.ts'
import { canonical, type Json } from '../../model/json.ts'
import { isAlikeButMarks } from '../../model/secret-mark.ts'
import { createActs } from '../sessions/acts.ts'
import { settleBelow } from '../kernel/running.ts'
import type { Runtime } from '../sessions/runtime.ts'
import type { Schemas, Steps, Tool, ToolAnswer } from '../kernel/ports.ts'
import { makeStepKey, type RecordedCall } from '../kernel/recorded.ts'
import { checkKey, checkStep } from '../turns/repair.ts'
import { noteGiven, steerKey, steerStep } from '../turns/steering.ts'
import { filesThen, passedThen, schemaThen, workspaceThen } from './replay-facts.ts'
import { reserveStep, transactThen, type Replaying } from './replaying.ts'

/** The driver's own steps: their effect is the recorded answer, said again as it was. */
export function stepsThen(replaying: Replaying, steps: Steps): Steps {
  return {
    ...steps,
    steering: {
      begin: () => undefined,
      onWord: () => () => undefined,
      take: (at) => takeThen(replaying, at),
    },
    step: (kind, name, request, _effect) =>
      steps.step(kind, name, request, async () => {
        const known = reserveStep(
          replaying,
          'step.ended',
          kind,
          name,
          makeStepKey(kind, name, request),
          undefined,
        )
        if (known === undefined) return replaying.gate.stray('step', canonical({ asks: kind, name, request }))
        await replaying.gate.reach(known)
        const value = known.output as never
        const text =
          kind === 'model' &&
          typeof known.output === 'object' &&
          known.output !== null &&
          'text' in known.output
            ? known.output['text']
            : null
        if (replaying.says && typeof text === 'string') steps.emit(text)
        return { value, usage: known.usage }
      }),
  }
}

/** What it was told then, at the same place. */
async function takeThen(replaying: Replaying, at: string): Promise<readonly string[]> {
  const known = reserveStep(replaying, 'step.ended', 'tool', steerStep, steerKey(at), undefined)
  if (known === undefined) return []
  await replaying.gate.reach(known)
  const words = known.output as string[]
  noteGiven(replaying.runtime, replaying.running(), steerKey(at), known.input, words)
  return words
}

/** Who took the place of an agent then, however things are now. Asked for twice: when looked for, and when made. */
export async function moveThen(replaying: Replaying, from: string, key: string): Promise<Moved | null> {
  const found = replaying.turn.timeline.find(
    ({ event }) => event.type === 'step.ended' && event.kind === 'move' && event.key === key,
  )?.event
  if (found?.type !== 'step.ended') return null
  const known = reserveStep(replaying, 'step.ended', 'move', from, key, undefined)
  if (known !== undefined) await replaying.gate.reach(known)
  return found.output as Moved
}

/** A check that did not finish is in the record, and is not tried again; any other gives the same again. */
export function schemasThen(of: () => Replaying): Schemas {
  let attempt = 0
  return {
    async check(schema, output, options) {
      const replaying = of()
      attempt += 1
      const known = reserveStep(replaying, 'step.ended', 'tool', checkStep, checkKey(attempt), { attempt })
      if (known === undefined) return replaying.ports.schemas.check(schema, output, options)
      await replaying.gate.reach(known)
      const [why = ''] = known.output as string[]
      return { kind: 'unfinished', why }
    },
  }
}

/**
 * Tools answer from the record. Those that this configuration does not have are known by what they left
 * there.
 */
export function toolsThen(replaying: Replaying, tools: readonly Tool[]): Tool[] {
  const names = new Set(tools.map((tool) => tool.name))
  const left = replaying.turn.timeline.flatMap(({ event }) =>
    (event.type === 'step.started' || event.type === 'step.ended') &&
    event.kind === 'tool' &&
    !names.has(event.name)
      ? [event]
      : [],
  )
  const strangers = [...new Set(left.map((event) => event.name))].map((name): Tool => ({
    name,
    calling: false,
    effect: left.some((event) => event.name === name && event.type === 'step.started') ? 'write' : 'read',
    describe: () => ({ name, description: '', input: {} }),
    run: () => Promise.reject(new Error('a replay runs no tool')),
  }))
  return [...tools, ...strangers].map((tool): Tool => ({
    ...tool,
    run: (input, context) =>
      tool.effect === 'call'
        ? tool.run(input, { ...context, acts: actsThen(replaying) })
        : answerThen(replaying, tool, input, context.stepKey),
    ...(tool.refuse === undefined
      ? {}
      : {
          refuse: (refusal, input, context) =>
            tool.refuse?.(refusal, input, { ...context, acts: actsThen(replaying) }) as Promise<ToolAnswer>,
        }),
  }))
}

async function answerThen(replaying: Replaying, tool: Tool, input: Json, key: string): Promise<ToolAnswer> {
  const known = reserveStep(replaying, 'step.ended', 'tool', tool.name, key, input)
  if (known === undefined)
    return replaying.gate.stray('tool', canonical({ asks: 'tool', name: tool.name, input }))
  await replaying.gate.reach(known)
  settleWaited(replaying, known.output)
  return { ok: known.ok, value: known.output }
}

/** Whoever was told the end of a background call has paid for it. */
function settleWaited(replaying: Replaying, output: Json): void {
  if (
    typeof output !== 'object' ||
    output === null ||
    Array.isArray(output) ||
    typeof output['call_id'] !== 'string' ||
    typeof output['outcome'] !== 'string'
  )
    return
  const call = output['call_id'] as CallId
  const opened = replaying.turn.timeline.find(
    ({ event }) => event.type === 'call.opened' && event.call === call && event.background,
  )?.event
  const ended = replaying.turn.timeline.find(
    ({ event }) => event.type === 'call.ended' && event.call === call,
  )?.event
  const running = replaying.running()
  if (opened?.type !== 'call.opened' || ended?.type !== 'call.ended') return
  settleBelow(running, ended)
}

/**
 * The acts of a calling tool. The call has the id that it had, is decided at the time at which it was, and
 * ends as it did.
 */
function actsThen(replaying: Replaying): ReturnType<typeof createActs> {
  const reserve = async (key: string, tool: string, task: string | null, asked: Json) => {
    const known = reserveCall(replaying, key, tool, task)
    if (known === undefined) return replaying.gate.stray('call', canonical(asked))
    return { known, acts: createActs(callLine(replaying, known), replaying.running()) }
  }
  return {
    async call(request, key) {
      const { known, acts } = await reserve(key, request.tool, request.task, {
        asks: request.tool,
        task: request.task,
        input: request.input ?? null,
      })
      const result = refusedByTool(known)
        ? await acts.refuse(request.tool, known.requested, known.refusal, key)
        : await acts.call(request, key)
      if (result.outcome === null) replaying.gate.callWaited(result.call)
      return result
    },
    refuse: async (tool, requested, refusal, key) =>
      (await reserve(key, tool, null, { asks: tool, requested })).acts.refuse(tool, requested, refusal, key),
    waitForCall: () => Promise.reject(new Error('a replay waits for nobody')),
    readOutput: nothing,
    steer: nothing,
    listAgents: nothing,
    send: nothing,
    spawn: nothing,
    state: nothing,
    waitForSession: nothing,
    listSessions: nothing,
    sendMail: nothing,
    readInbox: nothing,
    acceptMail: nothing,
    waitForMail: async () => undefined,
  }
}

/**
 * In 0.1.0 the tool itself refused an `output_schema` that could not be used, and recorded its whole input.
 * Now the call refuses it, and the description of the request that it records never has a schema.
 */
const refusedByTool = (known: RecordedCall): known is EventOf<'call.refused'> =>
  known.type === 'call.refused' &&
  known.refusal.code === 'bad_input' &&
  known.refusal.field === 'output_schema' &&
  typeof known.requested === 'object' &&
  known.requested !== null &&
  'output_schema' in known.requested

/** These are recorded as steps, so their results are in the record. */
const nothing = (): Promise<never> => Promise.reject(new Error('a replay reads nothing'))

function reserveCall(
  { gate, redacted, rerun }: Replaying,
  key: string,
  tool: string,
  task: string | null,
): RecordedCall | undefined {
  const isCall = (event: Event): event is RecordedCall =>
    event.type === 'call.opened' || event.type === 'call.refused'
  const exact = gate.reserve((event): event is RecordedCall => isCall(event) && event.key === key)
  if (exact !== undefined || !redacted) return exact
  const near = gate.reserve(
    (event): event is RecordedCall =>
      isCall(event) && event.tool === tool && (task === null || isAlikeButMarks(event.task, task)),
  )
  if (near !== undefined) rerun.keys.set(near, key)
  return near
}

function callLine(replaying: Replaying, recorded: RecordedCall): Runtime {
  const { runtime, seqs, ports, gate } = replaying
  const stored = seqs.get(recorded) as StoredEvent
  return {
    ...runtime,
    ids: { next: () => toTurnId(recorded.call).slice(5), boundary: () => recorded.boundary ?? null },
    clock: { ...runtime.clock, now: () => stored.at },
    tells: recorded.type === 'call.refused' || recorded.told === true,
    describeWorkspace: async (_cwd, files, field) =>
      field === 'files' ? filesThen(recorded, files ?? []) : workspaceThen(recorded),
    schemas: { check: async () => schemaThen(recorded) },
    summarise: async () => {
      const known = gate.reserve(
        (event): event is EventOf<'step.ended'> => event.type === 'step.ended' && event.kind === 'summary',
      )
      if (known === undefined) return gate.stray('call', canonical({ asks: 'summary' }))
      await gate.reach(known)
      // An extract has cost nothing; it is answered as it was, like any other effect.
      return { text: (known.output as { text: string }).text, usage: known.usage as Usage }
    },
    store: {
      ...runtime.store,
      entries: () => passedThen(ports.store, recorded),
      transact: (_keys, work) => transactThen(replaying, work, stored),
    },
  }
}
