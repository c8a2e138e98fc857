/**
 * Forks share history by reference, and change nothing of what they came from; messages are expanded on one.
 */
import { expect, test } from 'vitest'
import { as, letter, mailWorld, user, type MailWorld } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'
import { rebuild, viewsEqual } from '../../store/rebuild.ts'

const texts = async (w: MailWorld, session: SessionId): Promise<string[]> =>
  (await w.ok(w.exchange.history(session, null, 100))).messages.map((entry) => entry.text)

async function told(w: MailWorld, session: SessionId, ...said: string[]): Promise<void> {
  for (const text of said) {
    await w.ok(w.exchange.send(user, letter(session, text)))
    await w.rested(session)
  }
}

test('a fork has the conversation up to where it was made; neither sees what the other says later', async () => {
  const w = await mailWorld()
  const a = await w.open('coder')
  await told(w, a, 'one', 'two')
  const fork = (await w.ok(w.exchange.mail.fork(user, { from: a, back: null, messageId: null }, null))).id
  expect(await texts(w, fork)).toEqual(['one', 'did one', 'two', 'did two'])
  await told(w, a, 'only here')
  await told(w, fork, 'only there')
  expect(await texts(w, a)).toEqual(['one', 'did one', 'two', 'did two', 'only here', 'did only here'])
  expect(await texts(w, fork)).toEqual(['one', 'did one', 'two', 'did two', 'only there', 'did only there'])
  const second = (await w.ok(w.exchange.mail.fork(user, { from: fork, back: 3, messageId: null }, null))).id
  await told(w, second, 'deeper')
  expect(await texts(w, second)).toEqual(['one', 'did one', 'two', 'deeper', 'did deeper'])
  expect(await w.exchange.history(second, 5, 2)).toMatchObject({
    messages: [
      { n: 3, text: 'two' },
      { n: 4, text: 'deeper' },
    ],
    next: 3,
  })
  expect((await w.events('turn.ended')).filter(({ event }) => event.session === a)).toHaveLength(3)
  rebuild(w.store.db)
  expect(viewsEqual(w.store.db)).toEqual({ equal: true, difference: null })
  expect(await texts(w, second)).toEqual(['one', 'did one', 'two', 'deeper', 'did deeper'])
})

test('the turns of a fork are shown what it shares, and searches find it there', async () => {
  const seen: string[][] = []
  const w = await mailWorld({
    agents: {
      coder: {
        script: (turn) => {
          seen.push(turn.history.map((entry) => entry.text))
          return `did ${turn.task}`
        },
      },
    },
  })
  const a = await w.open('coder')
  await told(w, a, 'the walrus sings', 'two')
  const fork = (await w.ok(w.exchange.mail.fork(user, { from: a, back: 1, messageId: null }, null))).id
  await told(w, fork, 'go on')
  expect(seen.at(-1)).toEqual(['the walrus sings', 'did the walrus sings', 'two'])
  const page = await w.store.entries(fork, {
    filter: { keywords: ['walrus'] },
    now: w.clock.now(),
    tokensMax: 1000,
  })
  expect([page.entries.map((entry) => entry.n), page.total, page.dropped['keywords']]).toEqual([[1, 2], 5, 3])
  const aged = await w.store.entries(fork, {
    filter: { max_age_seconds: 0 },
    now: w.clock.now() + 1000,
    tokensMax: 1000,
  })
  expect([aged.entries, aged.dropped['age']]).toEqual([[], 5])
})

test('it is forked after a message or so many back; anything else is refused', async () => {
  const w = await mailWorld()
  const [a, other] = [await w.open('coder'), await w.open('coder')]
  const first = await w.ok(w.exchange.send(user, letter(a, 'one')))
  await w.rested(a)
  await told(w, a, 'two')
  await told(w, other, 'elsewhere')
  const fork = await w.ok(
    w.exchange.mail.fork(user, { from: a, back: null, messageId: first.messageId }, null),
  )
  expect(await texts(w, fork.id)).toEqual(['one'])
  expect(
    await w.exchange.mail.fork(user, { from: other, back: null, messageId: first.messageId }, null),
  ).toMatchObject({ code: 'bad_input', field: 'messageId' })
  expect(await w.exchange.mail.fork(user, { from: a, back: 5, messageId: null }, null)).toMatchObject({
    code: 'bad_input',
    field: 'fork',
    expected: expect.stringContaining('at most 4') as string,
  })
  expect(
    await w.exchange.mail.fork(user, { from: a, back: 1, messageId: first.messageId }, null),
  ).toMatchObject({ code: 'bad_input' })
  expect(
    await w.exchange.mail.fork(user, { from: a, back: null, messageId: 'msg_none' }, null),
  ).toMatchObject({ code: 'message_unknown' })
  const again = await w.ok(w.exchange.mail.fork(user, { from: a, back: null, messageId: null }, 'same'))
  expect(await w.exchange.mail.fork(user, { from: a, back: null, messageId: null }, 'same')).toMatchObject({
    id: again.id,
  })
})

test('an agent writes to a fork of itself, from now or from before; the running turn is not in it', async () => {
  const w = await mailWorld()
  const a = await w.open('coder')
  await told(w, a, 'one', 'two')
  const now = await w.use(a, 'send-message', { fork: true, message: 'try it this way' })
  await w.rested(now['session'] as SessionId)
  expect(await texts(w, now['session'] as SessionId)).toEqual([
    'one',
    'did one',
    'two',
    'did two',
    'try it this way',
    'did try it this way',
  ])
  expect(await w.exchange.sessionView(now['session'] as SessionId)).toMatchObject({
    parent: a,
    agent: 'coder',
  })
  expect(await w.exchange.history(now['session'] as SessionId, null, 2)).toMatchObject({
    messages: [{ source: 'agent', from: a }, {}],
  })
  const before = await w.use(a, 'send-message', { session: 'fork', fork: 4, message: 'go back' })
  await w.rested(before['session'] as SessionId)
  expect((await texts(w, before['session'] as SessionId)).slice(0, 3)).toEqual(['one', 'did one', 'go back'])
  expect(await w.use(a, 'send-message', { fork: 99, message: 'too far' })).toMatchObject({
    error: { code: 'bad_input' },
  })
  const x = await w.open('external')
  expect(await w.exchange.mail.send(as(x), { session: 'fork', message: 'x' }, null, null)).toMatchObject({
    code: 'bad_input',
  })
})

test('a draft for a fork is sent to one that is made when it is sent', async () => {
  const w = await mailWorld()
  const a = await w.open('coder')
  expect(await w.use(a, 'send-message', { fork: 0, message: 'later', id: 'd', draft: true })).toMatchObject({
    session: null,
    status: 'draft',
  })
  await told(w, a, 'meanwhile')
  const sent = await w.use(a, 'send-message', { id: 'd', message: 'later' })
  const made = (sent as { session: SessionId }).session
  expect(sent).toMatchObject({
    id: 'd',
    draft: false,
    session: expect.stringMatching(/^ses_(?!d$)/) as string,
  })
  await w.rested(made)
  expect(await texts(w, made)).toContain('meanwhile')
})

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

test('with no model the text stays as it is, and that is recorded', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await w.use(a, 'send-message', { session: b, message: 'short', elaborate: true, id: 'e' })
  expect(await w.exchange.mail.message(as(a), 'e')).toMatchObject({
    status: 'buffered',
    initial: 'short',
    message: 'short',
  })
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
