/** Writing mail: who may, what the same act does again, what cannot be written out, and whom it reaches. */
import { expect, test } from 'vitest'
import { as, mailWorld, user, type MailWorld } from '../../../test/kits/mail.ts'
import type { SessionId } from '../../model/id.ts'
import { inboxMax } from '../../model/limits.ts'
import { Fenced } from '../kernel/faults.ts'
import type { Running } from '../kernel/running.ts'
import { sendMail, type Writer } from './mail.ts'
import { post } from './send.ts'

/** Runs `act` while a turn of the session runs, with what runs it. */
const within = <T>(w: MailWorld, session: SessionId, act: (running: Running) => Promise<T>): Promise<T> =>
  w.doIn(session, async () => {
    const running = [...w.node.runtime.running.values()].find(({ row }) => row.session === session)
    if (running === undefined) throw new Error('nothing runs')
    return act(running)
  })

test('R6: an activation that another has replaced neither sends nor drafts', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  await within(w, a, async (running) => {
    const stale = { ...running, epoch: running.epoch - 1 }
    const sender = { kind: 'turn' as const, running: stale }
    const writer: Writer = { sender, session: stale.session, act: null, trace: null, cwd: '/' }
    await expect(post(w.node.runtime, { to: { session: b }, text: 'x', sender })).rejects.toThrow(Fenced)
    const ask = { session: b, message: 'x', draft: true }
    await expect(sendMail(w.node.runtime, writer, ask)).rejects.toThrow(Fenced)
  })
  expect((await w.events('message.sent')).filter(({ event }) => event.session === b)).toEqual([])
  expect(await w.events('message.drafted')).toEqual([])
})

test('R11: a session has so many drafts and no more; those that it has can be changed', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('external'), await w.open('coder')]
  const target = { kind: 'session' as const, session: b }
  const drafted = (n: number) => ({
    type: 'message.drafted' as const,
    session: a,
    turn: null,
    message: `d${n}`,
    target,
    source: 'agent' as const,
    inReplyTo: null,
    text: 'first',
    act: null,
  })
  await w.store.transact([`session:${a}`], async (tx) =>
    tx.append(...Array.from({ length: inboxMax - 1 }, (_, n) => drafted(n))),
  )
  const draft = (id: string, message: string) =>
    w.exchange.mail.send(as(a), { session: b, message, id, draft: true }, null, null)
  expect(await draft('last', 'one')).toMatchObject({ status: 'draft' })
  expect(await draft('more', 'two')).toMatchObject({ code: 'queue_full', queuedMax: inboxMax })
  expect(await draft('d0', 'second')).toMatchObject({ status: 'draft' })
})

test('M5: the same act again changes nothing of what it wrote, also if it says something else', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('external'), await w.open('coder')]
  const draft = (message: string, act: string) =>
    w.ok(w.exchange.mail.send(as(a), { session: b, message, id: 'plan', draft: true }, act, null))
  await draft('one', 'act1')
  await draft('two', 'act1')
  expect(await w.exchange.mail.message(as(a), 'plan')).toMatchObject({ message: 'one' })
  await draft('two', 'act2')
  expect(await w.exchange.mail.message(as(a), 'plan')).toMatchObject({ initial: 'one', message: 'two' })
  expect((await w.events('message.revised')).map(({ event }) => event.text)).toEqual(['two'])
})

test('an id of its own must not look like one of ours', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('external'), await w.open('coder')]
  const send = (id: string) => w.exchange.mail.send(as(a), { session: b, message: 'x', id }, null, null)
  expect(await send('123456789012345678901')).toMatchObject({ code: 'bad_input', field: 'id' })
  expect(await send('msg_123456789012345678901')).toMatchObject({ code: 'bad_input', field: 'id' })
  expect(await send('12345678901234567890')).toMatchObject({ status: 'buffered' })
})

test('M3: nobody has the draft of another written out, and iterating on nothing makes no message', async () => {
  const w = await mailWorld({
    agents: { writer: { model: 'scripted/writer', script: (turn) => write(turn) } },
  })
  type Turn = Parameters<typeof w.doIn>[1] extends (turn: infer T) => unknown ? T : never
  const answers: unknown[] = []
  const write = async (turn: Turn): Promise<string> => {
    const { id, draft } = JSON.parse(turn.task.startsWith('{') ? turn.task : '{}') as {
      id?: string
      draft?: boolean
    }
    if (id === undefined) return 'written out'
    const input = draft === true ? { id, message: 'x', draft } : { id, message: 'shorter', iterate: true }
    answers.push((await turn.tool('send-message', input)).value)
    return 'ok'
  }
  const [a, b] = [await w.open('writer'), await w.open('writer')]
  const ask = async (session: SessionId, task: object): Promise<void> =>
    void (await w.run('', JSON.stringify(task), { session }))
  await ask(a, { id: 'plan', draft: true })
  await ask(b, { id: 'plan' })
  await ask(b, { id: 'nothing' })
  expect(answers).toMatchObject([
    { status: 'draft' },
    { error: { code: 'message_not_yours' } },
    { error: { code: 'message_unknown' } },
  ])
  expect(await w.events('session.forked')).toEqual([])
})

test('what could not be written out stays a draft, with why', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('external'), await w.open('coder')]
  const ask = { session: b, message: 'short', elaborate: true }
  const sent = await w.ok(w.exchange.mail.send(as(a), ask, null, null))
  expect(sent).toMatchObject({ status: 'draft', note: expect.stringContaining('no model') as string })
  expect((await w.ok(w.exchange.mail.inbox(user, b, null))).messages).toEqual([])
})

test('a part of an id finds its receiver, also when it looks like a whole one', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('external'), await w.open('coder', { id: 'somebody-else' })]
  expect(b).toBe('ses_somebody-else')
  const sent = await w.exchange.mail.send(as(a), { session: 'ses_somebody', message: 'hi' }, null, null)
  expect(sent).toMatchObject({ session: b, status: 'buffered' })
})

test('M5: an act that is tried again has its draft written out once', async () => {
  const w = await mailWorld({
    agents: {
      writer: {
        model: 'scripted/writer',
        script: async (turn) =>
          turn.task === 'hold' ? (await w.clock.sleep(1e6, turn.signal), 'ok') : 'shorter',
      },
    },
  })
  const b = await w.open('writer')
  void w.ask('writer', 'hold')
  await w.rest()
  const [running] = w.node.runtime.running.values()
  if (running === undefined) throw new Error('nothing runs')
  const write = (ask: Parameters<typeof sendMail>[2], act: string) =>
    w.until(
      sendMail(
        w.node.runtime,
        { sender: { kind: 'turn', running }, session: running.session, act, trace: null, cwd: '/' },
        ask,
      ),
    )
  await write({ id: 'plan', session: b, message: 'a long text', draft: true }, 'act1')
  for (let n = 0; n < 2; n += 1)
    expect(
      await write({ id: 'plan', message: 'be brief', iterate: true, draft: true }, 'act2'),
    ).toMatchObject({ status: 'draft', note: null })
  expect(await w.exchange.mail.message(user, 'plan')).toMatchObject({ message: 'shorter' })
  expect(await w.events('session.forked')).toHaveLength(1)
})

test('a client has no conversation here that a draft could be a fork of', async () => {
  const w = await mailWorld()
  const a = await w.open('external')
  const draft = { session: 'fork', message: 'x', draft: true }
  expect(await w.exchange.mail.send(as(a), draft, null, null)).toMatchObject({ code: 'bad_input' })
  expect(await w.events('message.drafted')).toEqual([])
})
