/** Mail between sessions of a real opencode: sent, listed, accepted, answered, forked, drafted and dead. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import type { Event } from '../src/model/event.ts'
import {
  readText,
  waitForSession,
  toServerId,
  useTool,
  waitFor,
  type Check,
  type Mail,
} from './opencode-kit.ts'

export const mailChecks: readonly Check[] = [
  {
    name: 'a session sends to another: it waits in the buffer, is listed, accepted, answered, and the reply arrives',
    async run(world) {
      const { opencode, client, fake, events } = world
      const [sender, receiver] = [await opencode.create('sender'), await opencode.create('receiver of mail')]
      await waitForSession(client, receiver)
      const sent = await useTool<Mail>(world, sender, 'send-message', {
        session: toServerId(receiver),
        message: 'Which colour has the door?',
      })
      assert.deepEqual([sent.status, sent.buffered, sent.session], ['buffered', true, toServerId(receiver)])
      const { sessions } = await useTool<{ sessions: { id: string; buffered: number }[] }>(
        world,
        sender,
        'list-session',
        {},
      )
      assert.equal(sessions.find(({ id }) => id === toServerId(receiver))?.buffered, 1)
      const listed = await useTool<{
        messages: { id: string; message: string; from: string }[]
        instruction: string
      }>(world, receiver, 'buffer', {})
      assert.deepEqual(
        listed.messages.map(({ id, from }) => [id, from]),
        [[sent.id, toServerId(sender)]],
      )
      assert.ok(
        !(await readText(opencode, receiver)).includes('Which colour'),
        'it was delivered before it was accepted',
      )
      fake.rules.unshift(
        { when: { user: 'Which colour has the door?' }, text: 'The door is green.' },
        { when: { user: 'The door is green.' }, text: 'Thank you.' },
      )
      const accepted = await useTool<{ accepted: boolean; next: string }>(world, receiver, 'buffer', {
        accept: true,
      })
      assert.ok(accepted.accepted && accepted.next !== '')
      await waitFor('the reply', async () =>
        (await readText(opencode, sender)).includes('The door is green.'),
      )
      const reply = await waitFor('its event', async () =>
        events.find((event) => event.type === 'message.answered' && event.message === sent.id),
      )
      await client.sessions.wait(toServerId(sender), { timeoutMs: 20_000 })
      await new Promise((resolve) => setTimeout(resolve, 1000))
      assert.equal(
        events.filter((event) => event.type === 'message.sent' && event.inReplyTo !== null).length,
        1,
        'a reply was answered by itself',
      )
      await waitFor('the AgentFS database', async () =>
        readdirSync(opencode.mailDir).some((file) => file.includes(toServerId(receiver))),
      )
      return `${sent.id} was answered by ${reply.type === 'message.answered' ? reply.reply : ''}, and lies in AgentFS`
    },
  },
  {
    name: 'a fork two messages back goes on from there, and changes nothing in the session it came from',
    async run(world) {
      const { opencode, fake } = world
      const session = await opencode.create('forked')
      for (const text of ['The first number is 1', 'The second number is 2', 'The third number is 3'])
        await opencode.prompt(session, text)
      fake.rules.unshift(
        { when: { user: 'Go on from there' }, text: 'From the second.' },
        { when: { user: 'From the second.' }, text: 'Thank you.' },
      )
      const sent = await useTool<Mail>(world, session, 'send-message', {
        fork: 2,
        message: 'Go on from there',
      })
      const before = await readText(opencode, session)
      const fork = await waitFor('the fork', async () =>
        (await opencode.list()).find(
          ({ metadata }) =>
            (metadata?.['tieline'] as { session?: string } | undefined)?.session === sent.session,
        ),
      )
      await waitFor('its answer', async () =>
        (await readText(opencode, fork.id)).includes('From the second.'),
      )
      const said = await readText(opencode, fork.id)
      assert.ok(
        said.includes('The second number is 2') &&
          !said.includes('The third number') &&
          !said.includes('Use send-message'),
        said,
      )
      await waitFor('the reply', async () => (await readText(opencode, session)).includes('From the second.'))
      assert.ok((await readText(opencode, session)).startsWith(before))
      return `${fork.id} is ${sent.session ?? ''}`
    },
  },
  {
    name: 'a message to a new session makes one in opencode',
    async run(world) {
      const { opencode, fake } = world
      const session = await opencode.create('parent')
      fake.rules.unshift({ when: { user: 'Begin anew' }, text: 'I have begun.' })
      const sent = await useTool<Mail>(world, session, 'send-message', { message: 'Begin anew' })
      const made = await waitFor('the session', async () =>
        (await opencode.list()).find(
          ({ metadata }) =>
            (metadata?.['tieline'] as { session?: string } | undefined)?.session === sent.session,
        ),
      )
      await waitFor('the reply', async () => (await readText(opencode, session)).includes('I have begun.'))
      assert.equal((await world.client.sessions.get(sent.session ?? '')).parent, toServerId(session))
      return made.id
    },
  },
  {
    name: 'a draft is revised twice and sent once',
    async run(world) {
      const { opencode, client, events } = world
      const [sender, receiver] = [await opencode.create('writer'), await opencode.create('reader')]
      await waitForSession(client, receiver)
      for (const message of ['One', 'Two', 'Three']) {
        const draft = await useTool<Mail>(world, sender, 'send-message', {
          id: 'plan-1',
          session: toServerId(receiver),
          message,
          draft: true,
        })
        assert.deepEqual([draft.status, draft.draft], ['draft', true])
      }
      const sent = await useTool<Mail>(world, sender, 'send-message', {
        id: 'plan-1',
        message: 'Three',
        draft: false,
      })
      assert.equal(sent.status, 'buffered')
      const { messages } = await useTool<{ messages: { id: string; message: string; initial: string }[] }>(
        world,
        receiver,
        'buffer',
        {},
      )
      assert.deepEqual(
        messages.map(({ id, message, initial }) => [id, message.includes('Three'), initial.includes('One')]),
        [['plan-1', true, true]],
      )
      const of = (type: Event['type']): number =>
        events.filter((event) => event.type === type && 'message' in event && event.message === 'plan-1')
          .length
      assert.deepEqual([of('message.drafted'), of('message.revised'), of('message.sent')], [1, 2, 1])
      return 'drafted, revised, revised, sent'
    },
  },
  {
    name: 'a message is elaborated by a fork that knows the conversation, and that is gone afterwards',
    async run(world) {
      const { opencode, client, fake } = world
      const [sender, receiver] = [await opencode.create('elaborates'), await opencode.create('reads it all')]
      await waitForSession(client, receiver)
      await opencode.prompt(sender, 'The door is green')
      fake.rules.unshift(
        { when: { user: 'Write out the message below' }, text: 'Paint the gate green, like the door.' },
        { when: { user: 'Change the message below' }, text: 'Please paint the gate green.' },
      )
      const before = (await opencode.list()).length
      const draft = await useTool<Mail>(world, sender, 'send-message', {
        session: toServerId(receiver),
        message: 'Paint the gate',
        elaborate: true,
        draft: true,
      })
      await useTool<Mail>(world, sender, 'send-message', {
        id: draft.id,
        message: 'Say please',
        iterate: true,
      })
      const asked = fake.requests.find(({ user }) => user.includes('Write out the message below'))
      assert.ok(
        JSON.stringify(asked?.body['messages']).includes('The door is green') &&
          ((asked?.body['tools'] as unknown[] | undefined) ?? []).length === 0,
        'it had tools, or did not know the conversation',
      )
      const message = await client.mail.get(draft.id)
      assert.deepEqual(
        [message.status, message.initial, message.message],
        ['buffered', 'Paint the gate', 'Please paint the gate green.'],
      )
      assert.equal((await opencode.list()).length, before)
      return 'elaborated, iterated and sent'
    },
  },
  {
    name: 'a session that is deleted in opencode is gone at the server, and its mail becomes a dead letter',
    async run(world) {
      const { opencode, client, events } = world
      const [sender, receiver] = [await opencode.create('writes in vain'), await opencode.create('soon gone')]
      await waitForSession(client, receiver)
      const sent = await useTool<Mail>(world, sender, 'send-message', {
        session: toServerId(receiver),
        message: 'Are you there?',
      })
      await opencode.remove(receiver)
      await waitFor('the dead letter', async () =>
        events.some((event) => event.type === 'message.died' && event.message === sent.id),
      )
      return 'a dead letter'
    },
  },
]
