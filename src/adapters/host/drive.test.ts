/** The driver of connected programs on virtual time: loss after the grace time, and coming back within it. */
import { expect, test } from 'vitest'
import { testClock } from '../../../test/kits/turns.ts'
import { world, type World } from '../../../test/kits/world.ts'
import type { Steps, TurnInput } from '../../runtime/kernel/ports.ts'
import { hostDriver } from './drive.ts'
import type { ToHost } from '../../wire/host.ts'
import { hostHub, type Host, type HostHub } from './hub.ts'
import { answerUnitsMax } from '../../model/limits.ts'
import { isRefusal } from '../../model/refusal.ts'

type Program = Host & { frames: ToHost[] }

function program(): Program {
  const frames: ToHost[] = []
  return { frames, sessions: new Map(), send: (frame) => void frames.push(frame) }
}

async function hosted(): Promise<{ w: World; hub: HostHub; session: `ses_${string}` }> {
  const hub = hostHub()
  const w: World = await world({
    agents: {
      mine: {
        driver: {
          run: (turn, steps, signal) =>
            hostDriver({ hub, clock: w.clock, graceMs: 10_000 }).run(turn, steps, signal),
        },
      },
    },
  })
  const made = await w.exchange.createSession(
    { kind: 'user' },
    {
      cwd: '/tmp',
      agent: 'mine',
      model: null,
      title: '',
      parent: null,
      initialMessage: null,
      id: 'a',
      trace: null,
    },
  )
  return { w, hub, session: isRefusal(made) ? 'ses_none' : made.sessionId }
}

test('a program that goes away for good loses its running turn after the grace time, not before', async () => {
  const { w, hub, session } = await hosted()
  const host = program()
  hub.attach(host, session, 'a')
  const run = w.ask('', 'go', { session })
  await w.rest()
  expect(host.frames).toMatchObject([{ type: 'turn', id: 'a', task: 'go' }])
  hub.detach(host)
  await w.pass(9000)
  expect(await w.events('turn.ended')).toEqual([])
  expect(await w.until(run)).toMatchObject({
    outcome: 'lost',
    error: expect.stringContaining('not connected') as string,
  })
})

test('one that comes back in time is given the same turn again, and its answer counts', async () => {
  const { w, hub, session } = await hosted()
  const [first, second] = [program(), program()]
  hub.attach(first, session, 'a')
  const run = w.ask('', 'go', { session })
  await w.rest()
  hub.detach(first)
  await w.pass(5000)
  hub.attach(second, session, 'a')
  expect(second.frames).toEqual(first.frames)
  await w.pass(20_000)
  const turn = second.frames[0]?.type === 'turn' ? second.frames[0].turn : ''
  expect(hub.turn(first, turn)).toBe(null)
  hub.turn(second, turn)?.answer({ output: 'here', error: null, usage: { input: 3, output: 4 } })
  expect(await w.until(run)).toMatchObject({ outcome: 'completed', output: 'here', tokensUsed: 7 })
})

test('what a program calls a failure is one, with what it said', async () => {
  const { w, hub, session } = await hosted()
  const host = program()
  hub.attach(host, session, 'a')
  const run = w.ask('', 'go', { session })
  await w.rest()
  const turn = host.frames[0]?.type === 'turn' ? host.frames[0].turn : ''
  hub.turn(host, turn)?.say('so far ')
  hub.turn(host, turn)?.answer({ output: '', error: 'it broke', usage: null })
  expect(await w.until(run)).toMatchObject({
    outcome: 'failed',
    error: 'host_failed: it broke',
    output: 'so far ',
  })
})

test('R11: a program that says more than an answer may have is stopped, in pieces or at once', async () => {
  for (const speak of [
    (hub: HostHub, host: Host, turn: string) => {
      for (let n = 0; n < 40; n += 1) hub.turn(host, turn)?.say('-sk-'.repeat(16_000))
    },
    (hub: HostHub, host: Host, turn: string) =>
      hub
        .turn(host, turn)
        ?.answer({ output: '-sk-'.repeat(answerUnitsMax / 4 + 1), error: null, usage: null }),
  ]) {
    const { w, hub, session } = await hosted()
    const host = program()
    hub.attach(host, session, 'a')
    const run = w.ask('', 'go', { session })
    await w.rest()
    const [frame] = host.frames
    speak(hub, host, frame?.type === 'turn' ? frame.turn : '')
    const ended = await w.until(run)
    expect(ended).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('output_too_long') as string,
    })
    expect(ended.output.length).toBeLessThanOrEqual(answerUnitsMax)
  }
})

test('a program is told the deadline that comes first: that of its turn, or that of the call', async () => {
  const hub = hostHub()
  const host = program()
  hub.attach(host, 'ses_a', 'a')
  const stop = new AbortController()
  const steps = {
    step: async (
      _kind: string,
      _name: string,
      _input: unknown,
      run: (signal: AbortSignal) => Promise<unknown>,
    ) => run(stop.signal),
  } as unknown as Steps
  const told = (id: string, call: number | null): Promise<unknown> => {
    const turn = { id, deadline: 1000, call: call === null ? null : { caller: 'ses_x', deadline: call } }
    const input = { turn, session: { id: 'ses_a' }, agent: { name: 'mine' }, prompt: '', tools: [] }
    return hostDriver({ hub, clock: testClock() })
      .run(input as unknown as TurnInput, steps, stop.signal)
      .catch(() => undefined)
  }
  const runs = [told('turn_1', null), told('turn_2', 400), told('turn_3', 4000)]
  await new Promise((resolve) => setImmediate(resolve))
  const frames = host.frames.filter((frame) => frame.type === 'turn')
  expect(frames.map(({ turn, deadline }) => [turn, deadline])).toEqual([
    ['turn_1', 1000],
    ['turn_2', 400],
    ['turn_3', 1000],
  ])
  stop.abort(new Error('enough'))
  await Promise.all(runs)
})
