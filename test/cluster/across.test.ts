import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineDriver, defineTool } from '../../src/define.ts'
import type { TielineOptions } from '../../src/line.ts'
import type { OpenLine } from '../../src/open-line.ts'
import { StoreUnavailable } from '../../src/runtime/kernel/store-health.ts'
import { systemClock } from '../../src/runtime/kernel/system-clock.ts'
import { freshDatabase, openNode, scratch } from '../kits/cluster-lines.ts'
import { until } from '../kits/cluster.ts'
import { startPostgres } from '../kits/postgres.ts'
import { tcpProxy } from '../kits/tcp-proxy.ts'

const postgres = await startPostgres()
afterAll(() => postgres?.stop())

type Agents = NonNullable<TielineOptions['agents']>
type Script = Extract<NonNullable<Agents[string]['script']>, (...args: never[]) => unknown>

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

/** `a` is where clients are; `b` has the label, so what is under test runs there. */
async function twoNodes(agents: Agents, more: Omit<TielineOptions, 'agents'> = {}) {
  const url = await freshDatabase(postgres)
  const a = await openNode(url, { name: 'a', agents, ...more })
  const b = await openNode(url, { name: 'b', labels: ['gpu'], agents, ...more })
  return { a, b, url }
}

const there = (script: Script): Agents[string] => ({ runsOn: 'gpu', script })
const boss = (script: Script, tools: string[]): Agents[string] => ({
  tools,
  allowSubAgentCalls: true,
  script,
})
const read = async (line: OpenLine, type: string) =>
  (await line.store.read(0, {}, 10_000)).events.flatMap(({ event }) => (event.type === type ? [event] : []))

describe.skipIf(postgres === null)('what is asked at one node and done at another', () => {
  test('R4: a cancel at one node ends a turn that runs at the other', async () => {
    const { a, b } = await twoNodes({ sleeper: there((turn) => untilAborted(turn.signal)) })
    const run = a.run('sleeper', 'sleep', { timeoutMs: 30_000 })
    await until(async () => (await read(b, 'turn.started')).length === 1)
    const [session] = await a.store.sessions({ agent: 'sleeper' }, 1)
    const since = systemClock.elapsed()
    expect(await a.sessions.cancel(session?.id ?? '', {})).toEqual({ cancelled: 1 })
    expect((await run).outcome).toBe('cancelled')
    expect(systemClock.elapsed() - since).toBeLessThan(5000)
    expect((await read(b, 'turn.ended')).at(-1)).toMatchObject({ outcome: 'cancelled' })
  })

  test('R3: a cancel at a node that is far from the database finds what another has just acknowledged', async () => {
    const url = await freshDatabase(postgres)
    const agents: Agents = { sleeper: { script: (turn) => untilAborted(turn.signal) } }
    const near = await openNode(url, { name: 'near', agents })
    const proxy = await tcpProxy(postgres?.port ?? 0)
    onTestFinished(() => proxy.close())
    const behind = url.replace(/:\d+\//, `:${proxy.port}/`)
    const far = await openNode(behind, { name: 'far', agents, leaseMs: 20_000 })
    const created = await near.sessions.create({ agent: 'sleeper', cwd: scratch() })
    const sessionId = 'sessionId' in created ? created.sessionId : 'ses_none'
    await until(async () => (await far.store.session(sessionId)) !== null)
    // Longer than a look may take, and shorter than a transaction may stand still.
    proxy.delay(280)
    await near.sessions.send(sessionId, { message: 'sleep' })
    // On a busy machine the database may be too far away: then it is said, and tried again.
    const tryCancel = (): Promise<unknown> =>
      far.sessions.cancel(sessionId, {}).catch((fault: unknown) => {
        if (!(fault instanceof StoreUnavailable)) throw fault
        return tryCancel()
      })
    expect(await tryCancel()).toEqual({ cancelled: 1 })
    proxy.delay(0)
  })

  test('a call in the background is waited for at one node and ends at the other', async () => {
    const { a } = await twoNodes({
      worker: there(async (turn) => {
        await systemClock.sleep(300)
        return `did ${turn.task}`
      }),
      boss: boss(
        async (turn) => {
          const opened = await turn.tool('sub_agent', { agent_name: 'worker', task: 'it', background: true })
          const { call_id } = opened.value as { call_id: string }
          const ended = await turn.tool('wait_for_call', { call_id, timeout_seconds: 20 })
          return (ended.value as { output: string }).output
        },
        ['sub_agent', 'wait_for_call'],
      ),
    })
    expect((await a.run('boss', 'go', { timeoutMs: 30_000 })).output).toBe('did it')
  })

  test('a word that is said at one node reaches a turn at the other, which does not end before', async () => {
    const gate = Promise.withResolvers<void>()
    const { a, b } = await twoNodes({
      worker: {
        runsOn: 'gpu',
        driver: defineDriver({
          async run(_turn, steps) {
            steps.steering?.begin()
            await gate.promise
            return `heard: ${(await steps.steering?.take('end', true))?.join() ?? 'nothing'}`
          },
        }),
      },
      boss: boss(
        async (turn) => {
          const { value } = await turn.tool('sub_agent', { agent_name: 'worker', task: 'it' })
          return (value as { output: string }).output
        },
        ['sub_agent'],
      ),
    })
    const run = a.run('boss', 'go', { timeoutMs: 30_000 })
    await until(async () => (await read(a, 'turn.started')).length === 2)
    await until(async () => (await read(b, 'turn.started')).length === 2)
    const [opened] = await read(a, 'call.opened')
    const call = opened?.type === 'call.opened' ? opened.call : ''
    expect(await a.calls.steer(call, 'hurry')).toMatchObject({ status: 'queued' })
    gate.resolve()
    expect((await run).output).toBe('heard: hurry')
  })

  test('a question of a turn at one node is answered at the other', async () => {
    const danger = defineTool({
      name: 'danger',
      description: '',
      input: z.strictObject({}),
      run: () => 'done',
    })
    const { a, b } = await twoNodes(
      {
        careful: {
          runsOn: 'gpu',
          tools: ['danger'],
          ask: ['danger'],
          script: async (turn) => JSON.stringify(await turn.tool('danger', {})),
        },
      },
      { tools: [danger], asks: true },
    )
    const run = a.run('careful', 'go', { timeoutMs: 30_000 })
    const open = async (line: OpenLine) => {
      const listed = await line.desks.as({}).questions.list()
      return 'questions' in listed ? listed.questions : []
    }
    await until(async () => (await open(a)).length === 1)
    expect(await open(b)).toHaveLength(1)
    const [question] = await open(a)
    await a.desks.as({}).questions.answer(question?.id ?? '', { answer: 'allow' })
    expect((await run).output).toContain('done')
    await until(async () => (await open(b)).length === 0)
  })

  test('R9: mail that is sent at one node wakes who waits for it at the other', async () => {
    const { a, b } = await twoNodes({
      waiter: {
        runsOn: 'gpu',
        tools: ['wait_for_mail', 'buffer'],
        script: async (turn) =>
          JSON.stringify((await turn.tool('wait_for_mail', { timeout_seconds: 20 })).value),
      },
    })
    const run = a.run('waiter', 'go', { timeoutMs: 30_000 })
    await until(async () => (await read(b, 'turn.started')).length === 1)
    const [session] = await a.store.sessions({ agent: 'waiter' }, 1)
    const since = systemClock.elapsed()
    await a.sessions.send(session?.id ?? '', { message: 'a letter', delivery: 'buffer' })
    expect((await run).output).toContain('a letter')
    expect(systemClock.elapsed() - since).toBeLessThan(10_000)
  })

  test('a session waits for its directory, and runs where that is', async () => {
    const cwd = join(scratch(), 'project')
    mkdirSync(cwd)
    const { a } = await twoNodes({ worker: { script: async () => 'done' } })
    const created = await a.sessions.create({ cwd, agent: 'worker' })
    const id = 'sessionId' in created ? created.sessionId : ''
    rmSync(cwd, { recursive: true })
    // A node looks again after two seconds.
    await systemClock.sleep(2100)
    await a.sessions.send(id, { message: 'go' })
    expect(await a.sessions.state(id)).toMatchObject({ queued: 1 })
    mkdirSync(cwd)
    await until(async () => (await read(a, 'turn.ended')).length === 1)
    expect((await read(a, 'turn.ended'))[0]).toMatchObject({ outcome: 'completed', output: 'done' })
  })
})

describe.skipIf(postgres === null)('a node that is stopped while it works', () => {
  test('R10: lets its tool end and records that, and the other goes on without running it again', async () => {
    const ran: string[] = []
    const begun = Promise.withResolvers<void>()
    const slow = defineTool({
      name: 'slow',
      description: '',
      input: z.strictObject({}),
      async run() {
        begun.resolve()
        await systemClock.sleep(400)
        ran.push('slow')
        return 'all of it'
      },
    })
    const url = await freshDatabase(postgres)
    const agents: Agents = {
      worker: {
        tools: ['slow'],
        script: async (turn) => {
          const { ok, value } = await turn.tool('slow', {})
          return `${ok ? 'done' : 'failed'}: ${JSON.stringify(value)} ${await turn.think('and then')}`
        },
      },
    }
    const a = await openNode(url, { name: 'a', agents, tools: [slow] })
    const b = await openNode(url, { name: 'b', agents, tools: [slow] })
    const lost = Promise.resolve(a.run('worker', 'go', { timeoutMs: 30_000 })).catch(() => null)
    await begun.promise
    await a.close()
    await lost
    await until(async () => (await read(b, 'turn.ended')).length === 1)
    expect((await read(b, 'turn.ended'))[0]).toMatchObject({
      outcome: 'completed',
      output: 'done: "all of it" and then',
    })
    expect(ran).toEqual(['slow'])
  })
})
