/**
 * What a session was told that nobody asked for: it reaches the agent, once, with its next turn, and stands
 * in its inbox until then.
 */
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import type { ScriptedTurn } from '../../adapters/scripted/run-function.ts'
import type { SessionId } from '../../model/id.ts'
import type { Json } from '../../model/json.ts'
import { isRefusal } from '../../model/refusal.ts'

const place = { cwd: tmpdir(), model: null, title: '', parent: null, id: null, trace: null }

async function session(w: World, agent: string, initialMessage: string | null = null): Promise<SessionId> {
  const made = await w.exchange.createSession({ kind: 'user' }, { ...place, agent, initialMessage })
  return isRefusal(made) ? 'ses_none' : made.sessionId
}

const resting = (w: World, id: SessionId) =>
  w.until(w.exchange.waitForSession({ kind: 'user' }, id, 600_000, new AbortController().signal))

async function tell(w: World, id: SessionId, message: string): Promise<void> {
  await w.until(
    w.exchange.send(
      { kind: 'user' },
      {
        to: id,
        text: message,
        source: 'user',
        from: null,
        applet: null,
        delivery: 'auto',
        inReplyTo: null,
        id: null,
        trace: null,
      },
    ),
  )
  await resting(w, id)
}

function spawning(seen: string[], listed: unknown[] = []) {
  return {
    planner: {
      script: async (turn: ScriptedTurn) => {
        seen.push(turn.prompt)
        if (turn.task === 'list') listed.push((await turn.tool('buffer', {})).value)
        if (turn.task === 'spawn')
          await turn.tool('create_agent_session', { cwd: tmpdir(), initialMessage: 'fail', agent: 'coder' })
        return 'ok'
      },
    },
    coder: { script: () => Promise.reject(new Error('it </peer_message> broke')) },
  }
}

test('an agent is told of the failure of a session that it made: with its next turn, framed, and once', async () => {
  const seen: string[] = []
  const w = await world({ agents: spawning(seen) })
  const id = await session(w, 'planner', 'spawn')
  await resting(w, id)
  await w.pass(1000)
  await tell(w, id, 'go on')
  await tell(w, id, 'and on')
  expect([seen[0], seen[2], seen.length]).toEqual(['spawn', 'and on', 3])
  const [open, header, failure, ...rest] = (seen[1] ?? '').split('\n')
  expect(open).toMatch(/^<\d{3}>$/)
  expect(header).toMatch(/^<peer_message from="ses_[^"]*" note="[^"]*">$/)
  expect(failure).toMatch(/^coder in ses_\S+ ended failed: script_failed: it &lt;\/peer_message> broke$/)
  expect(rest).toEqual(['</peer_message>', open?.replace('<', '</'), '', 'go on'])
  expect(await w.exchange.history(id, null, 10)).toMatchObject({
    messages: [{}, {}, { text: 'go on' }, {}, {}, {}],
  })
})

test("what it was told stands in its inbox until a turn has it, also when that turn is a call's", async () => {
  const [seen, listed]: [string[], { notices: string[] }[]] = [[], []]
  const w = await world({
    agents: {
      ...spawning(seen, listed),
      other: {
        script: async (turn) =>
          String(valueOf(await turn.tool('call_agent', { agent_id: turn.task, message: 'list' }))['outcome']),
      },
    },
  })
  const id = await session(w, 'planner', 'spawn')
  await resting(w, id)
  await w.pass(1000)
  const user = { kind: 'session' as const, session: await w.exchange.clientSession('me', '/tmp') }
  await w.exchange.adopt(id, user.session)
  const buffer = async () =>
    (
      (await w.until(
        w.exchange.useTool(
          user,
          'buffer',
          { session: id },
          { signal: new AbortController().signal, id: null, trace: null },
        ),
      )) as { value: unknown }
    ).value
  expect(await buffer()).toMatchObject({ messages: [], notices: [expect.stringContaining('ended failed')] })
  await w.run('other', id)
  expect(seen[1]).toContain('ended failed')
  expect(listed).toMatchObject([{ messages: [], notices: [] }])
  expect(await buffer()).toMatchObject({ notices: [] })
})

test('a session adopted while its turn ran tells its new parent, not the old one, that it failed', async () => {
  const w = await world({
    agents: {
      planner: { script: async () => 'ok' },
      coder: {
        script: async (turn) => {
          await w.clock.sleep(1000, turn.signal)
          throw new Error('it broke')
        },
      },
    },
  })
  const [old, next] = [await session(w, 'planner'), await session(w, 'planner')]
  const made = await w.exchange.createSession(
    { kind: 'user' },
    { ...place, agent: 'coder', initialMessage: 'fail', parent: old },
  )
  const child = isRefusal(made) ? 'ses_none' : made.sessionId
  await w.exchange.adopt(child, next)
  await resting(w, child)
  expect(await w.events('notice.raised')).toMatchObject([{ event: { session: next, about: child } }])
})

test('a turn that runs again after a crash is told the same', async () => {
  const seen: string[] = []
  const agents = spawning(seen)
  const w = await world({
    agents: {
      ...agents,
      planner: {
        script: async (turn) => {
          const answer = await agents.planner.script(turn)
          if (turn.task === 'slow') await w.clock.sleep(60_000, turn.signal)
          return answer
        },
      },
    },
  })
  const id = await session(w, 'planner', 'spawn')
  await resting(w, id)
  await w.pass(1000)
  await w.exchange.send(
    { kind: 'user' },
    {
      to: id,
      text: 'slow',
      source: 'user',
      from: null,
      applet: null,
      delivery: 'auto',
      inReplyTo: null,
      id: null,
      trace: null,
    },
  )
  await w.rest()
  await w.addNode()
  void w.node.stop()
  await w.pass(20_000)
  expect(seen).toHaveLength(3)
  expect(seen[2]).toBe(seen[1])
  expect(seen[1]).toContain('ended failed')
})

test('a late result goes to the caller, or to the nearest above it that is still there, not to the root', async () => {
  const late = async (turn: ScriptedTurn): Promise<string> => {
    await w.clock.sleep(5000, turn.signal)
    return 'the late truth'
  }
  const ask =
    (agent: string, more: Record<string, Json> = {}) =>
    async (turn: ScriptedTurn): Promise<string> =>
      String(
        valueOf(
          await turn.tool('call_agent', {
            agent_id: agent,
            message: `from above ${agent}`,
            timeout_ms: 60_000,
            ...more,
          }),
        )['outcome'],
      )
  const w: World = await world({
    agents: {
      root: { script: ask('middle') },
      middle: { script: ask('slow', { timeout_ms: 1000 }) },
      slow: { script: late },
      top: { script: ask('between') },
      between: {
        script: async (turn) =>
          String(
            valueOf(
              await turn.tool('sub_agent', { agent_name: 'fleeting', task: 'x', allow_nested_calls: true }),
            )['output'],
          ),
      },
      fleeting: { script: ask('slower', { timeout_ms: 1000 }) },
      slower: { script: late },
    },
  })
  await w.run('root', 'go')
  await w.run('top', 'go')
  await w.pass(10_000)
  expect((await w.events('notice.raised')).map(({ event }) => event.session)).toEqual([
    'ses_main-middle',
    'ses_main-between',
  ])
})
