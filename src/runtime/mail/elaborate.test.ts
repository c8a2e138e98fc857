/** Messages that are written out before they are sent. */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user, type MailWorld } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'

async function told(w: MailWorld, session: SessionId, ...said: string[]): Promise<void> {
  for (const text of said) {
    await w.ok(w.exchange.send(user, letter(session, text)))
    await w.rested(session)
  }
}

test('elaborate expands the text on a fork of the sender, without tools; the first text is kept', async () => {
  const seen: { prompt: string; tools: number; history: string[] }[] = []
  const w = await mailWorld({
    agents: {
      writer: {
        model: 'scripted/writer',
        script: async (turn) => {
          if (turn.task.includes('<message>')) {
            seen.push({
              prompt: turn.prompt,
              tools: turn.tools.length,
              history: turn.history.map((entry) => entry.text),
            })
            return turn.task.includes('instructions say') ? 'shorter text' : 'a long text with all the facts'
          }
          return turn.task === 'write'
            ? JSON.stringify(
                (
                  await turn.tool('send-message', {
                    session: b,
                    message: 'short',
                    elaborate: true,
                    id: 'e',
                    draft: true,
                  })
                ).value,
              )
            : turn.task === 'change'
              ? JSON.stringify(
                  (
                    await turn.tool('send-message', {
                      id: 'e',
                      message: 'be brief',
                      iterate: true,
                      draft: true,
                    })
                  ).value,
                )
              : turn.task === 'send'
                ? JSON.stringify(
                    (await turn.tool('send-message', { id: 'e', message: 'shorter text' })).value,
                  )
                : 'ok'
        },
      },
    },
  })
  const [a, b] = [await w.open('writer'), await w.open('writer')]
  await told(w, a, 'we chose blue', 'write')
  expect(await w.exchange.mail.message(as(a), 'e')).toMatchObject({
    status: 'draft',
    initial: 'short',
    message: 'a long text with all the facts',
  })
  expect(seen[0]).toEqual({
    prompt: expect.stringContaining('[From the applet elaborate]') as string,
    tools: 0,
    history: ['we chose blue', 'ok'],
  })
  await told(w, a, 'change')
  expect(await w.exchange.mail.message(as(a), 'e')).toMatchObject({
    initial: 'short',
    message: 'shorter text',
  })
  expect(seen[1]?.prompt).toContain('be brief')
  expect((await w.events('message.revised')).map(({ event }) => [event.how, event.instructions])).toEqual([
    ['elaborated', null],
    ['iterated', 'be brief'],
  ])
  await told(w, a, 'send')
  expect(await w.exchange.mail.inbox(user, b, null)).toMatchObject({
    messages: [{ id: 'e', initial: 'short', message: 'shorter text' }],
  })
  expect(
    (
      await w.exchange.sessions({
        dir: null,
        active: null,
        agent: null,
        parent: null,
        archived: true,
        cursor: null,
        limit: 50,
      })
    ).sessions
      .map((one) => one.id)
      .toSorted(),
  ).toEqual([a, b].toSorted())
  expect(w.faults).toEqual([])
})

test('an agent could not see its elaborated draft, and sending it replaced the text by "ok send it"', async () => {
  const answers: unknown[] = []
  const w = await mailWorld({
    agents: {
      writer: {
        model: 'scripted/writer',
        script: async (turn) => {
          if (turn.task.includes('<message>')) return 'all the facts'
          const input =
            turn.task === 'write'
              ? { session: b, message: 'short', elaborate: true, id: 'e', draft: true }
              : { id: 'e', draft: false }
          answers.push((await turn.tool('send-message', input)).value)
          return 'ok'
        },
      },
    },
  })
  const [a, b] = [await w.open('writer'), await w.open('writer')]
  await told(w, a, 'write', 'ok send it')
  expect(answers).toMatchObject([{ status: 'draft', message: 'all the facts' }, { status: 'buffered' }])
  expect(await w.exchange.mail.inbox(user, b, null)).toMatchObject({
    messages: [{ id: 'e', initial: 'short', message: 'all the facts' }],
  })
})

test('elaborate that fails sends the raw text silently', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const kept = await w.use(a, 'send-message', { session: b, message: 'short', elaborate: true, id: 'e' })
  expect(kept).toMatchObject({ status: 'draft', message: 'short', note: 'no model: planner has none' })
  expect((await w.ok(w.exchange.mail.inbox(user, b, null))).messages).toEqual([])
  expect(await w.use(a, 'send-message', { id: 'e', draft: false })).toMatchObject({ status: 'buffered' })
  expect(await w.exchange.mail.message(as(a), 'e')).toMatchObject({ initial: 'short', message: 'short' })
  expect((await w.events('message.revised')).map(({ event }) => event.note)).toEqual([
    'no model: planner has none',
  ])
  const failing = await mailWorld({
    agents: {
      coder: {
        model: 'scripted/x',
        script: async (turn) => {
          if (turn.task.includes('<message>')) throw new Error('overloaded')
          return JSON.stringify(
            (await turn.tool('send-message', { message: 'go', elaborate: true, id: 'f', draft: true })).value,
          )
        },
      },
    },
  })
  await told(failing, await failing.open('coder'), 'write')
  expect((await failing.events('message.revised')).map(({ event }) => [event.text, event.note])).toEqual([
    ['go', 'script_failed: overloaded'],
  ])
})

test('a sender that is cancelled takes the expansion of its message with it', async () => {
  const w = await mailWorld({
    agents: {
      coder: {
        model: 'scripted/x',
        script: async (turn) => {
          if (turn.task.includes('<message>')) await w.clock.sleep(1e6, turn.signal)
          await turn.tool('send-message', { message: 'go', elaborate: true, id: 'f' })
          return 'ok'
        },
      },
    },
  })
  const a = await w.open('coder')
  await w.exchange.send(user, letter(a, 'write'))
  await w.rest()
  expect(w.node.runtime.running.size).toBe(2)
  await w.exchange.cancel(a, false, 'asked')
  await w.pass(5000)
  expect(w.node.runtime.running.size).toBe(0)
  expect(await w.exchange.mail.message(user, 'f')).toMatchObject({ code: 'message_unknown' })
})

test('iterate needs a draft of one’s own', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  expect(await w.use(a, 'send-message', { message: 'x', iterate: true })).toMatchObject({
    error: { code: 'bad_input' },
  })
  expect(await w.use(a, 'send-message', { message: 'x', iterate: true, id: 'none' })).toMatchObject({
    error: { code: 'message_unknown' },
  })
  await w.use(b, 'send-message', { message: 'x', id: 'mine', draft: true })
  expect(await w.use(a, 'send-message', { message: 'x', iterate: true, id: 'mine' })).toMatchObject({
    error: { code: 'message_not_yours' },
  })
})

test('the fork for elaborate does not see the running turn: now it reads the request, and what was found', async () => {
  const prompts: string[] = []
  const w = await mailWorld({
    agents: {
      writer: {
        model: 'scripted/writer',
        script: async (turn) => {
          if (turn.task.includes('<message>')) {
            prompts.push(turn.prompt)
            return 'the whole story'
          }
          if (!turn.task.startsWith('tell')) return 'ok'
          await turn.think('The port is 4711.')
          await turn.tool('list-session', { dir: '*' })
          await turn.tool('send-message', { session: b, message: 'the port', elaborate: true, id: 'p' })
          return 'sent'
        },
      },
    },
  })
  const [a, b] = [await w.open('writer'), await w.open('writer')]
  await told(w, a, 'tell the other one which port we chose')
  expect(prompts).toHaveLength(1)
  expect(prompts[0]).toMatch(
    /Asked: tell the other one which port we chose\nSaid: The port is 4711\.\nlist-session/,
  )
  // The request that is written out stands last, and its own tool has no answer yet.
  expect(prompts[0]?.indexOf('<message>')).toBeGreaterThan(prompts[0]?.indexOf('4711') ?? Infinity)
  expect(prompts[0]).not.toContain('send-message {')
})

test('after the clock had been set forward, what writes a message out was stopped before it began', async () => {
  const w = await mailWorld({
    agents: {
      writer: {
        model: 'scripted/writer',
        script: async (turn) => {
          if (turn.task.includes('<message>'))
            return w.clock.sleep(1000, turn.signal).then(() => 'a long text with all the facts')
          if (turn.task !== 'write') return 'ok'
          w.clock.jump(3 * 3_600_000)
          const sent = { session: b, message: 'short', elaborate: true, id: 'e', draft: true }
          return JSON.stringify((await turn.tool('send-message', sent)).value)
        },
      },
    },
  })
  const [a, b] = [await w.open('writer'), await w.open('writer')]
  await told(w, a, 'write')
  expect(await w.exchange.mail.message(as(a), 'e')).toMatchObject({
    message: 'a long text with all the facts',
  })
})
