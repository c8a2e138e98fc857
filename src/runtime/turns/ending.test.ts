import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { valueOf, world } from '../../../test/kits/world.ts'
import type { ScriptedFunction, ScriptedTurn } from '../../adapters/scripted/run-function.ts'
import { cancel } from './ending.ts'
import { isRefusal } from '../../model/refusal.ts'

const forever = (turn: ScriptedTurn): Promise<never> =>
  new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))

const callWith =
  (input: Record<string, unknown>): ScriptedFunction =>
  async (turn) =>
    JSON.stringify(
      (await turn.tool('sub_agent', { agent_name: 'child', task: 'work', ...input } as never)).value,
    )

test('R4: a child that never answers gives control back at the deadline, with what it had said so far', async () => {
  let aborted = false
  const child: ScriptedFunction = async (turn) => {
    await turn.think('I have begun')
    turn.say(' and a half')
    turn.signal.addEventListener('abort', () => (aborted = true))
    return forever(turn)
  }
  const w = await world({
    agents: { boss: { script: callWith({ timeout_seconds: 7 }) }, child: { script: child } },
  })
  const start = w.clock.now()
  const value = JSON.parse((await w.run('boss', 'go')).output)
  expect(w.clock.now() - start).toBeGreaterThanOrEqual(7000)
  expect(w.clock.now() - start).toBeLessThan(7050)
  expect(value).toMatchObject({ outcome: 'timed_out', success: false, output: 'I have begun and a half' })
  expect(value.errors[0]).toContain('no answer within 7 s')
  expect(aborted).toBe(true)
  await w.pass(5000)
  expect(w.node.runtime.running.size).toBe(0)
  expect((await w.events('turn.ended')).map(({ event }) => event.outcome)).toContain('timed_out')
})

test('R4: control is back at the deadline also when the child ignores its signal', async () => {
  const w = await world({
    agents: {
      boss: { script: callWith({ timeout_seconds: 3 }) },
      child: { driver: { run: () => new Promise(() => undefined) } },
    },
  })
  const start = w.clock.now()
  expect(JSON.parse((await w.run('boss', 'go')).output).outcome).toBe('timed_out')
  expect(w.clock.now() - start).toBeLessThan(3050)
  await w.pass(4000)
  expect(w.node.runtime.running.size).toBe(0)
})

test('a real process of a child that timed out is gone, with its own children', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'tieline-'))
  const w = await world({
    agents: {
      boss: { script: callWith({ timeout_seconds: 2 }) },
      child: {
        script: async (turn) => {
          await turn.tool('shell', {
            command: 'sleep 987 & echo $! > pids; sleep 987 & echo $! >> pids; wait',
          })
          return 'never'
        },
      },
    },
  })
  const running = w.ask('boss', 'go', { cwd })
  await w.rest()
  // The shell runs in real time: wait until both processes are there before virtual time passes.
  const pids = await pidsOf(join(cwd, 'pids'), 2)
  expect(JSON.parse((await w.until(running)).output).outcome).toBe('timed_out')
  await w.pass(3000)
  for (let tries = 0; tries < 100 && pids.some(alive); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
  expect(pids.filter(alive)).toEqual([])
})

async function pidsOf(file: string, count: number): Promise<number[]> {
  for (let tries = 0; tries < 250; tries += 1) {
    const lines = execFileSync('/bin/sh', ['-c', `cat '${file}' 2>/dev/null || true`], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line !== '')
    if (lines.length >= count) return lines.map(Number)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('the processes did not start')
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    // No such process is what is hoped for.
    return false
  }
}

test('the effective deadline leaves the caller time to use a partial result', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) =>
          JSON.stringify(
            (
              await turn.tool('sub_agent', {
                agent_name: 'middle',
                task: 'one',
                timeout_seconds: 100,
                allow_nested_calls: true,
              })
            ).value,
          ),
      },
      middle: {
        script: async (turn) => {
          const asked = { agent_name: 'child', task: 'two', timeout_seconds: 1000 }
          return `inner ${String(valueOf(await turn.tool('sub_agent', asked))['outcome'])}`
        },
      },
      child: { script: forever },
    },
  })
  const start = w.clock.now()
  const value = JSON.parse((await w.run('boss', 'go')).output)
  expect(value.output).toBe('inner timed_out')
  expect(w.clock.now() - start).toBe(98_000)
})

test('cancel ends the turn, every call below it and their drivers, and queued inputs stay', async () => {
  const stopped: string[] = []
  const hang =
    (name: string): ScriptedFunction =>
    async (turn) => {
      turn.signal.addEventListener('abort', () => stopped.push(name))
      if (name === 'leaf') return forever(turn)
      return String(
        (
          await turn.tool('sub_agent', {
            agent_name: name === 'boss' ? 'middle' : 'leaf',
            task: `for ${name}`,
            allow_nested_calls: true,
          })
        ).value,
      )
    }
  const w = await world({
    agents: {
      boss: { script: (turn) => (turn.task === 'later' ? 'queued ran' : hang('boss')(turn)) },
      middle: { script: hang('middle') },
      leaf: { script: hang('leaf') },
    },
  })
  const run = w.ask('boss', 'go')
  await w.rest()
  const sent = await run.accepted
  if (isRefusal(sent)) throw new Error(sent.code)
  const later = w.ask('', 'later', { session: sent.session })
  await w.rest()
  expect(await w.until(cancel(w.node.runtime, sent.turn, 'cancelled', 'enough'))).toBe(true)
  const result = await w.until(run)
  expect(result).toMatchObject({ outcome: 'cancelled', success: false })
  expect(stopped.sort()).toEqual(['boss', 'leaf', 'middle'])
  expect((await w.events('call.ended')).map(({ event }) => event.outcome)).toEqual(['cancelled', 'cancelled'])
  expect((await w.until(later)).output).toBe('queued ran')
})

test('R3: an answer after the deadline changes nothing; a persistent session sends it as a notice', async () => {
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          const value = valueOf(
            await turn.tool('call_agent', { agent_id: 'slow', message: 'work', timeout_ms: 1000 }),
          )
          return String(value['outcome'])
        },
      },
      slow: {
        script: async () => {
          await w.clock.sleep(5000)
          return 'the late truth'
        },
      },
    },
  })
  const start = w.clock.now()
  expect((await w.run('boss', 'go')).output).toBe('timed_out')
  expect(w.clock.now() - start).toBeLessThan(1050)
  await w.pass(6000)
  const ended = await w.events('call.ended')
  expect(ended.length).toBe(1)
  expect(ended[0]?.event.outcome).toBe('timed_out')
  const notices = await w.events('notice.raised')
  expect(notices[0]?.event.text).toContain('the late truth')
  expect(notices[0]?.event.session).toBe(ended[0]?.event.session)
})

test('R3: after its call timed out a persistent session goes on, but further calls of it are refused', async () => {
  const slow: ScriptedFunction = async (turn) => {
    const first = valueOf(await turn.tool('sub_agent', { agent_name: 'leaf', task: 'one' }))['outcome']
    await w.clock.sleep(3000)
    const second = valueOf(await turn.tool('sub_agent', { agent_name: 'leaf', task: 'two' }))
    return `${String(first)}, then ${String(second['errors'])}`
  }
  const w = await world({
    agents: {
      boss: {
        script: async (turn) =>
          String(
            valueOf(await turn.tool('call_agent', { agent_id: 'slow', message: 'work', timeout_ms: 1000 }))[
              'outcome'
            ],
          ),
      },
      slow: { script: slow },
      leaf: { script: forever },
    },
  })
  expect((await w.run('boss', 'go')).output).toBe('timed_out')
  await w.pass(5000)
  expect((await w.events('notice.raised'))[0]?.event.text).toContain(
    'timed_out, then Nobody waits for this any more',
  )
})

test('a root turn has a deadline of its own, and one that falls silent is ended by the watchdog', async () => {
  const w = await world({ agents: { a: { script: forever } }, limits: { inactivityMs: 60_000 } })
  const start = w.clock.now()
  expect(await w.run('a', 'go', { timeoutMs: 5000 })).toMatchObject({ outcome: 'timed_out' })
  expect(w.clock.now() - start).toBeLessThan(5050)
  const again = w.clock.now()
  expect(await w.run('a', 'go')).toMatchObject({ outcome: 'timed_out' })
  expect(w.clock.now() - again).toBeLessThan(60_050)
})

test('the watchdog is paused while a tool runs', async () => {
  const nap = {
    name: 'nap',
    effect: 'write' as const,
    calling: false,
    describe: () => ({ name: 'nap', description: '', input: {} }),
    run: async () => {
      await w.clock.sleep(200_000)
      return { ok: true, value: 'rested' }
    },
  }
  const w = await world({
    agents: { a: { script: async (turn) => String((await turn.tool('nap', {})).value) } },
    limits: { inactivityMs: 60_000 },
    tools: [nap],
  })
  expect((await w.run('a', 'go')).output).toBe('rested')
})

test('a run that ends with nothing is a failure, and a driver that breaks is one with its cause', async () => {
  const w = await world({
    agents: {
      empty: { script: () => '  ' },
      broken: {
        script: () => {
          throw new Error('no luck')
        },
      },
      rude: { driver: { run: () => Promise.reject(new Error('boom')) } },
    },
  })
  expect(await w.run('empty', 'go')).toMatchObject({
    outcome: 'failed',
    success: false,
    error: 'empty_output',
  })
  expect((await w.run('broken', 'go')).error).toContain('no luck')
  expect(await w.run('rude', 'go')).toMatchObject({ outcome: 'failed', error: 'boom' })
})
