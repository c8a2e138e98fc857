/** Messages between agents: how they are framed, and what bounds them. */
import { expect, test } from 'vitest'
import type { SessionId } from '../../model/id.ts'
import { world } from '../../../test/kits/world.ts'
import { user, letter, session, resting } from '../../../test/kits/letters.ts'

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
