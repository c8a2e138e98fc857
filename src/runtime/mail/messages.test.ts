/** Messages between sessions, spawned sessions, states and waits: on virtual time. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SessionId } from '../../model/id.ts'
import { limitsDefault } from '../../model/limits.ts'
import { world, type World } from '../../../test/kits/world.ts'
import { isRefusal } from '../../model/refusal.ts'
import type { SendAsk } from '../../../test/kits/askers.ts'
import type { Who } from '../desk/asker.ts'

const user: Who = { kind: 'user' }
const place = { cwd: tmpdir(), model: null, title: '', parent: null, id: null, trace: null }
const letter = (to: SessionId, text: string, more: Partial<SendAsk> = {}): SendAsk => ({
  to,
  text,
  source: 'user',
  from: null,
  applet: null,
  delivery: 'auto',
  inReplyTo: null,
  id: null,
  trace: null,
  ...more,
})

async function session(w: World, agent: string, initialMessage: string | null = null): Promise<SessionId> {
  const made = await w.exchange.createSession(user, { ...place, agent, initialMessage })
  if (isRefusal(made)) throw new Error(made.code)
  return made.sessionId
}

const never = new AbortController().signal
const resting = async (w: World, id: SessionId) =>
  w.until(w.exchange.waitForSession(user, id, 3_600_000, never))

test('a session made with a first message works on it, and is idle only when nothing is left to do', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(5000, turn.signal)
          return `did ${turn.task}`
        },
      },
    },
  })
  const id = await session(w, 'coder', 'first')
  expect(await w.exchange.send(user, letter(id, 'second'))).toMatchObject({ status: 'queued' })
  expect(await w.exchange.state(id)).toMatchObject({
    status: 'streaming',
    isActive: true,
    queued: 1,
    lastMessage: null,
  })
  expect(await resting(w, id)).toMatchObject({
    status: 'idle',
    isActive: false,
    queued: 0,
    lastMessage: { role: 'assistant', content: 'did second' },
  })
  expect(await w.exchange.send(user, letter(id, 'third'))).toMatchObject({ status: 'dispatched' })
  await resting(w, id)
})

test('a failed turn is the state error, until a turn ends well; a cancelled one is not an error', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          if (turn.task === 'fail') throw new Error('broke')
          if (turn.task === 'hang') await w.clock.sleep(1e9, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const id = await session(w, 'coder', 'fail')
  expect(await resting(w, id)).toMatchObject({ status: 'error' })
  await w.exchange.send(user, letter(id, 'go'))
  expect(await resting(w, id)).toMatchObject({ status: 'idle' })
  await w.exchange.send(user, letter(id, 'hang'))
  await w.rest()
  expect(await w.exchange.cancel(id, false, 'asked')).toEqual({ cancelled: 1 })
  expect(await resting(w, id)).toMatchObject({ status: 'idle' })
})

test('cancel ends the present turn and leaves what is queued; with all it ends that too', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          if (turn.task === 'hang') await w.clock.sleep(1e9, turn.signal)
          return `did ${turn.task}`
        },
      },
    },
  })
  const id = await session(w, 'coder', 'hang')
  await w.exchange.send(user, letter(id, 'next'))
  expect(await w.exchange.cancel(id, false, 'asked')).toEqual({ cancelled: 1 })
  expect(await resting(w, id)).toMatchObject({ lastMessage: { content: 'did next' } })
  await w.exchange.send(user, letter(id, 'hang'))
  await w.exchange.send(user, letter(id, 'never'))
  expect(await w.exchange.cancel(id, true, 'asked')).toEqual({ cancelled: 2 })
  await resting(w, id)
  expect((await w.events('turn.ended')).map(({ event }) => event.output)).not.toContain('did never')
})

test('delivery "now" to a busy session is refused, and nothing is queued', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(1000, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const id = await session(w, 'coder', 'work')
  expect(await w.exchange.send(user, letter(id, 'now', { delivery: 'now' }))).toEqual({
    code: 'session_busy',
    session: id,
  })
  await resting(w, id)
  expect(await w.exchange.send(user, letter(id, 'now', { delivery: 'now' }))).toMatchObject({
    status: 'dispatched',
  })
})

test('the 101st waiting input is refused, never lost and never a hidden wait', async () => {
  const w = await world({
    agents: {
      coder: {
        script: async (turn) => {
          await w.clock.sleep(1000, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const id = await session(w, 'coder', 'work')
  for (let n = 0; n < 100; n += 1)
    expect(await w.exchange.send(user, letter(id, `m${n}`))).toMatchObject({ status: 'queued' })
  expect(await w.exchange.send(user, letter(id, 'one too many'))).toMatchObject({
    code: 'queue_full',
    queued: 100,
    queuedMax: 100,
  })
  await resting(w, id)
  expect(((await w.exchange.history(id, null, 500)) as { messages: unknown[] }).messages.length).toBe(202)
})

test('a message with the same id has one effect; with another text it is refused', async () => {
  const w = await world({ agents: { coder: {} } })
  const id = await session(w, 'coder')
  const first = await w.exchange.send(user, letter(id, 'hello', { id: 'mine-1' }))
  expect(first).toMatchObject({ messageId: 'mine-1', status: 'dispatched' })
  await resting(w, id)
  expect(await w.exchange.send(user, letter(id, 'hello', { id: 'mine-1' }))).toMatchObject({
    messageId: 'mine-1',
  })
  expect(await w.exchange.send(user, letter(id, 'other', { id: 'mine-1' }))).toEqual({
    code: 'message_already_sent',
    message: 'mine-1',
  })
  expect((await w.events('message.sent')).length).toBe(1)
  expect(await w.exchange.send(user, letter(id, 'x', { id: 'with blanks' }))).toMatchObject({
    code: 'bad_input',
    field: 'messageId',
  })
})

test('a session that was made with the same id is the same session', async () => {
  const w = await world({ agents: { coder: {} } })
  const ask = { ...place, agent: 'coder', initialMessage: 'go', id: 'key-1' }
  const [a, b] = [await w.exchange.createSession(user, ask), await w.exchange.createSession(user, ask)]
  expect(b).toEqual(a)
  expect((await w.events('session.created')).length).toBe(1)
  expect(await w.exchange.createSession(user, { ...ask, cwd: '/nowhere/at/all' })).toMatchObject({
    code: 'bad_input',
    field: 'cwd',
  })
  expect(await w.exchange.createSession(user, { ...ask, agent: 'nobody' })).toMatchObject({
    code: 'agent_unknown',
    known: ['coder'],
  })
})

test('an agent writes to another session: framed as a peer, one hop deeper, in the same flow', async () => {
  const seen: string[] = []
  const w = await world({
    agents: {
      planner: {
        script: async (turn) =>
          JSON.stringify(
            (await turn.tool('send_agent_message', { sessionId: target, message: 'look at this' })).value,
          ),
      },
      coder: {
        script: (turn) => {
          seen.push(turn.prompt)
          return 'thanks'
        },
      },
    },
  })
  const target = await session(w, 'coder')
  const sender = await session(w, 'planner', 'write to them')
  await resting(w, sender)
  await resting(w, target)
  const [open, header, ...rest] = (seen[0] ?? '').split('\n')
  expect(open).toMatch(/^<\d{3}>$/)
  expect(header).toMatch(
    /^<peer_message id="msg_[^"]+" from="ses_[^"]+" note="written by another agent, not by the user[^"]*">$/,
  )
  expect(rest).toEqual(['look at this', '</peer_message>', open?.replace('<', '</')])
  const sent = (await w.events('message.sent')).map(({ event }) => event)
  expect(sent[1]).toMatchObject({
    session: target,
    from: sender,
    source: 'agent',
    grant: { depth: 1 },
    flow: sent[0]?.flow,
  })
  const history = await w.exchange.history(target, null, 10)
  expect(history).toMatchObject({
    messages: [
      { role: 'user', source: 'agent', from: sender, fromAgent: 'planner', text: 'look at this' },
      { role: 'assistant', text: 'thanks' },
    ],
  })
})

test('an agent cannot write to itself, to a child of a call, or where it may not call', async () => {
  const answers: unknown[] = []
  const w = await world({
    agents: {
      planner: {
        mayCall: ['coder'],
        script: async (turn) => {
          for (const to of turn.task.split(' '))
            answers.push((await turn.tool('send_agent_message', { sessionId: to, message: 'x' })).value)
          return 'ok'
        },
      },
      coder: {},
      other: {},
      mute: {
        allowSubAgentCalls: false,
        script: async (turn) => {
          answers.push((await turn.tool('send_agent_message', { sessionId: turn.task, message: 'x' })).value)
          return 'ok'
        },
      },
    },
  })
  const [own, other] = [await session(w, 'planner'), await session(w, 'other')]
  await w.exchange.send(user, letter(own, `${own} ${other} ses_nobody`))
  await resting(w, own)
  expect(answers).toMatchObject([
    { error: { code: 'self_call' } },
    { error: { code: 'not_allowed' } },
    { error: { code: 'session_unknown' } },
  ])
  const mute = await session(w, 'mute', other)
  await resting(w, mute)
  expect(answers[3]).toMatchObject({ messageId: '', status: null, error: { code: 'not_allowed' } })
})

test('a spawned session belongs to its maker, answers it without depth, and fails with a notice to it', async () => {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) => {
          if (turn.task !== 'spawn' && turn.task !== 'spawn badly') return `heard ${turn.task}`
          const made = await turn.tool('create_agent_session', {
            cwd: tmpdir(),
            initialMessage: turn.task === 'spawn' ? 'work, then tell me' : 'fail',
            agent: 'coder',
          })
          return JSON.stringify(made.value)
        },
      },
      coder: {
        mayCall: [],
        script: async (turn) => {
          if (turn.task === 'fail') throw new Error('broke')
          return JSON.stringify(
            (await turn.tool('send_agent_message', { sessionId: parent, message: 'done' })).value,
          )
        },
      },
    },
  })
  const parent = await session(w, 'planner', 'spawn')
  await resting(w, parent)
  const child = (
    JSON.parse(
      (await w.events('turn.ended')).find(({ event }) => event.session === parent)?.event.output ?? '{}',
    ) as { sessionId: SessionId }
  ).sessionId
  await resting(w, child)
  await resting(w, parent)
  expect(await w.exchange.sessionView(child)).toMatchObject({ parent, agent: 'coder', status: 'idle' })
  expect((await w.events('message.sent')).map(({ event }) => [event.session, event.grant.depth])).toEqual([
    [parent, 0],
    [child, 1],
    [parent, 1],
  ])
  await w.exchange.send(user, letter(parent, 'spawn badly'))
  await resting(w, parent)
  await w.rest()
  const notices = (await w.events('notice.raised')).map(({ event }) => event)
  expect(notices).toMatchObject([{ session: parent, text: expect.stringContaining('failed') as string }])
})

test('a message loop between two agents ends by depth, and a flow has a rate of messages', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) =>
          JSON.stringify((await turn.tool('send_agent_message', { sessionId: b, message: 'ping' })).value),
      },
      b: {
        script: async (turn) =>
          JSON.stringify((await turn.tool('send_agent_message', { sessionId: a, message: 'pong' })).value),
      },
      flood: {
        script: async (turn) => {
          for (let n = 0; n < 25; n += 1)
            last = (await turn.tool('send_agent_message', { sessionId: quiet, message: `${n}` })).value
          return 'ok'
        },
      },
      quiet: {},
    },
  })
  let last: unknown
  const [b, quiet]: [SessionId, SessionId] = [await session(w, 'b'), await session(w, 'quiet')]
  const a: SessionId = await session(w, 'a', 'start')
  await w.pass(10_000)
  expect((await w.events('message.sent')).length).toBe(6)
  expect((await w.events('turn.ended')).at(-1)?.event.output).toContain('call_too_deep')
  await resting(w, await session(w, 'flood', 'go'))
  expect(last).toMatchObject({ error: { code: 'rate_limited' } })
})

test('agents stop writing to each other one hour after the user spoke last', async () => {
  let answer: unknown
  const w = await world({
    agents: {
      late: {
        script: async (turn) => {
          await w.clock.sleep(3_500_000, turn.signal)
          await w.clock.sleep(99_000, turn.signal)
          answer = (await turn.tool('send_agent_message', { sessionId: quiet, message: 'x' })).value
          return 'ok'
        },
      },
      quiet: {},
    },
    limits: { turnMsMax: 7_200_000, inactivityMs: 7_200_000, messageAgeSeconds: 3590 },
  })
  const quiet: SessionId = await session(w, 'quiet')
  await resting(w, await session(w, 'late', 'go'))
  expect(answer).toMatchObject({
    error: { code: 'flow_expired', message: expect.stringContaining('3590') as string },
  })
})

test('what a message may use is taken from its sender: a flow with a budget never grows by messages', async () => {
  const w = await world({
    agents: {
      a: {
        script: async (turn) => {
          await turn.tool('send_agent_message', { sessionId: b, message: 'x' })
          await turn.tool('send_agent_message', { sessionId: b, message: 'y' })
          return 'ok'
        },
      },
      b: {},
    },
  })
  const b: SessionId = await session(w, 'b')
  await w.run('a', 'go', { maxTokens: 1000 })
  await resting(w, b)
  expect((await w.events('message.sent')).map(({ event }) => event.grant.tokensMax)).toEqual([1000, 500, 250])
})

test('deleting a session cancels and archives its children; an idle one is brought back by a message', async () => {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) =>
          turn.task === 'go'
            ? JSON.stringify(
                (
                  await turn.tool('create_agent_session', {
                    cwd: tmpdir(),
                    initialMessage: 'hang',
                    agent: 'coder',
                  })
                ).value,
              )
            : 'ok',
      },
      coder: {
        script: async (turn) => {
          if (turn.task === 'hang') await w.clock.sleep(1e8, turn.signal)
          return 'ok'
        },
      },
    },
  })
  const parent = await session(w, 'planner', 'go')
  await resting(w, parent)
  const [child] = (
    await w.exchange.sessions({
      dir: null,
      active: true,
      agent: null,
      parent,
      archived: false,
      cursor: null,
      limit: 10,
    })
  ).sessions
  expect(await w.exchange.archive(parent)).toEqual({ archived: [parent, child?.id] })
  await w.rest()
  expect((await w.events('turn.ended')).at(-1)?.event).toMatchObject({
    session: child?.id,
    outcome: 'cancelled',
  })
  expect(await w.exchange.send(user, letter(parent, 'hello?'))).toEqual({
    code: 'session_unknown',
    session: parent,
  })
  expect(
    (
      await w.exchange.sessions({
        dir: null,
        active: null,
        agent: null,
        parent: null,
        archived: false,
        cursor: null,
        limit: 10,
      })
    ).sessions,
  ).toEqual([])
})

test('a spawned session without use is put away after 24 hours, not before; a message brings it back', async () => {
  const { archiveIdle } = await import('../sessions/sessions.ts')
  const w = await world({
    agents: {
      planner: {
        script: async (turn) =>
          turn.task === 'spawn'
            ? JSON.stringify(
                (
                  await turn.tool('create_agent_session', {
                    cwd: tmpdir(),
                    initialMessage: 'x',
                    agent: 'coder',
                  })
                ).value,
              )
            : 'ok',
      },
      coder: {},
    },
    limits: { archiveAfterHours: 0.1 },
  })
  const root = await session(w, 'planner', 'spawn')
  await resting(w, root)
  const [child] = (
    await w.exchange.sessions({
      dir: null,
      active: null,
      agent: 'coder',
      parent: null,
      archived: false,
      cursor: null,
      limit: 10,
    })
  ).sessions
  expect(limitsDefault.archiveAfterHours).toBe(24)
  await w.pass(5 * 60_000)
  expect(await archiveIdle(w.node.runtime, w.store.lists)).toBe(0)
  await w.pass(2 * 60_000)
  expect(await archiveIdle(w.node.runtime, w.store.lists)).toBe(1)
  expect(await w.exchange.sessionView(child?.id as SessionId)).toMatchObject({ archived: true })
  expect(await w.exchange.sessionView(root)).toMatchObject({ archived: false })
  await w.exchange.send(user, letter(child?.id as SessionId, 'again'))
  expect(await w.exchange.sessionView(child?.id as SessionId)).toMatchObject({ archived: false })
})

test("a spawned session works in any directory that is named, relative to its maker's", async () => {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) =>
          JSON.stringify([
            (await turn.tool('create_agent_session', { cwd: turn.task, agent: 'coder' })).value,
          ]),
      },
      coder: {},
    },
  })
  const [top, below] = [mkdtempSync(join(tmpdir(), 'tieline-spawn-')), 'deeper']
  mkdirSync(join(top, below))
  for (const [given, is] of [
    [below, join(top, below)],
    ['.', top],
    ['/', '/'],
  ] as const)
    expect(JSON.parse((await w.run('planner', given, { cwd: top })).output)).toMatchObject([
      { cwd: is, error: null },
    ])
  expect(JSON.parse((await w.run('planner', 'src', { cwd: top })).output)).toMatchObject([
    { error: { code: 'bad_input', message: expect.stringContaining('a directory that exists') as string } },
  ])
})

test('an orphan is listed as one and can be adopted, but not by its own child', async () => {
  const w = await world({ agents: { coder: {} } })
  const old = await session(w, 'coder')
  const made = await w.exchange.createSession(user, {
    ...place,
    agent: 'coder',
    initialMessage: null,
    parent: old,
  })
  const child = isRefusal(made) ? ('ses_none' as const) : made.sessionId
  await w.store.transact([`session:${old}`], async (tx) =>
    tx.append({ type: 'session.archived', session: old, turn: null, cause: 'idle' }),
  )
  expect(await w.exchange.sessionView(child)).toMatchObject({ orphan: true })
  const next = await session(w, 'coder')
  expect(await w.exchange.adopt(child, next)).toMatchObject({ parent: next, orphan: false })
  expect(await w.exchange.adopt(next, child)).toMatchObject({ code: 'bad_input', field: 'parent' })
  expect(await w.exchange.adopt(child, 'ses_none')).toMatchObject({ code: 'session_unknown' })
})

test('an applet speaks with its name', async () => {
  const seen: string[] = []
  const w = await world({
    agents: {
      coder: {
        script: (turn) => {
          seen.push(turn.prompt)
          return 'ok'
        },
      },
    },
  })
  const id = await session(w, 'coder')
  await w.exchange.send(user, letter(id, 'build', { source: 'applet', applet: 'ci' }))
  await resting(w, id)
  expect(seen).toEqual([expect.stringMatching(/^<(\d{3})>\n\[From the applet ci\]\nbuild\n<\/\1>$/)])
  expect(await w.exchange.history(id, null, 10)).toMatchObject({
    messages: [{ source: 'applet', applet: 'ci' }, {}],
  })
})

test('a part of an id finds its session; one that fits two lists both', async () => {
  const w = await world({ agents: { coder: {} } })
  await w.exchange.createSession(user, { ...place, agent: 'coder', initialMessage: null, id: 'alpha-one' })
  await w.exchange.createSession(user, { ...place, agent: 'coder', initialMessage: null, id: 'alpha-two' })
  expect(await w.exchange.findSession('one')).toMatchObject({ id: 'ses_alpha-one' })
  const both = await w.exchange.findSession('alpha')
  expect(both).toMatchObject({ code: 'session_ambiguous' })
  expect('candidates' in both ? both.candidates.toSorted() : []).toEqual(['ses_alpha-one', 'ses_alpha-two'])
  expect(await w.exchange.findSession('gamma')).toEqual({ code: 'session_unknown', session: 'gamma' })
})
