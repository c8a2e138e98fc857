/** Sessions of a real opencode as agents of the server: tools, messages, calls, cancellation and tracing. */
import assert from 'node:assert/strict'
import {
  answerWithTool,
  secret,
  toServerId,
  useTool,
  waitFor,
  waitForSession,
  type Check,
} from './opencode-kit.ts'
import { agentName } from './opencode-process.ts'

export const sessionChecks: readonly Check[] = [
  {
    name: 'the plugin starts the server, and has the tools',
    async run({ opencode, client, fake }) {
      const session = await opencode.create('first')
      await opencode.prompt(session, 'Hello')
      const shown = fake.requests
        .flatMap(
          ({ body }) =>
            (body['tools'] as
              | { function: { name: string; description: string; parameters: { required?: string[] } } }[]
              | undefined) ?? [],
        )
        .map((tool) => tool.function)
      for (const name of [
        'list-session',
        'send-message',
        'buffer',
        'sub_agent',
        'call_agent',
        'wait_for_call',
        'send_agent_message',
        'create_agent_session',
      ])
        assert.ok(
          shown.some((tool) => tool.name === name),
          `${name} is not shown`,
        )
      const [send, call] = ['send-message', 'sub_agent'].map((name) =>
        shown.find((tool) => tool.name === name),
      )
      assert.deepEqual(send?.parameters.required ?? [], [])
      assert.match(call?.description ?? '', /Gives another agent a task/)
      assert.ok(
        fake.requests.some(({ system }) => system.includes(`you are session ${toServerId(session)}`)),
        'the session does not learn its own name',
      )
      assert.ok((await client.sessions.list({})).sessions.some(({ id }) => id === toServerId(session)))
      return 'ours are shown with their own schemas'
    },
  },
  {
    name: 'a session calls an agent of the server, and the call is on record as its own',
    async run(world) {
      const session = await world.opencode.create('caller')
      const answer = await useTool<{ success: boolean; output: string; call_id: string }>(
        world,
        session,
        'sub_agent',
        { agent_name: 'coder', task: 'Say the secret word' },
      )
      assert.ok(answer.success && answer.output.includes(secret), JSON.stringify(answer))
      const record = await world.client.calls.get(answer.call_id)
      assert.equal((await world.client.sessions.get(record.callerSession)).parent, toServerId(session))
      const again = await useTool<{ text: string }>(world, session, 'read_output', {
        call_id: answer.call_id,
      })
      assert.ok(again.text.includes(secret), JSON.stringify(again))
      return `answered; by ${record.caller}`
    },
  },
  {
    name: 'a message to a session becomes a prompt in it, and its answer is the answer of the turn, not the next one',
    async run({ opencode, client, fake }) {
      const session = await opencode.create('receiver')
      fake.rules.unshift(
        { when: { user: 'What do you see' }, text: 'A lighthouse.' },
        { when: { user: 'Take your time' }, text: 'At last.', delayMs: 3000 },
      )
      await opencode.prompt(session, 'Hello')
      // The user is busy when the message arrives: it waits, and the two answers are not mixed up.
      const busy = opencode.prompt(session, 'Take your time')
      await waitFor('busy', async () => (await opencode.status())[session] !== undefined)
      await client.sessions.send(toServerId(session), { message: 'What do you see?' })
      const state = await client.sessions.wait(toServerId(session), { timeoutMs: 50_000 })
      assert.equal(state.lastMessage?.content, 'A lighthouse.')
      assert.ok((await busy).parts.some((part) => part.text === 'At last.'))
      const texts = (await opencode.messages(session)).map(
        ({ info, parts }) =>
          `${info.role}: ${parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')}`,
      )
      assert.deepEqual(texts.slice(-4), [
        'user: Take your time',
        'assistant: At last.',
        'user: What do you see?',
        'assistant: A lighthouse.',
      ])
      return 'answered after the user was served'
    },
  },
  {
    name: 'what is done for a message keeps its place below it',
    async run({ opencode, client, fake }) {
      const session = await opencode.create('between')
      fake.rules.unshift(
        ...answerWithTool(
          'Find out the word',
          'sub_agent',
          { agent_name: 'coder', task: 'Say the secret word' },
          'I know it.',
        ),
      )
      const { flow } = await client.sessions.send(await waitForSession(client, session), {
        message: 'Find out the word',
      })
      assert.equal(
        (await client.sessions.wait(toServerId(session), { timeoutMs: 50_000 })).lastMessage?.content,
        'I know it.',
      )
      const {
        calls: [call],
      } = await client.flow(flow ?? '')
      assert.deepEqual([call?.callerSession, call?.depth, call?.success], [toServerId(session), 1, true])
      return `${call?.call ?? ''} is in ${flow ?? ''}`
    },
  },
  {
    name: 'opencode is called by name, like any agent, in a session that it makes for the call',
    async run({ opencode, client, fake }) {
      fake.rules.unshift({ when: { user: 'Name a fish' }, text: 'Pike.' })
      const answer = await client.calls.open({ agent: agentName, task: 'Name a fish' })
      assert.deepEqual([answer.success, answer.output], [true, 'Pike.'], JSON.stringify(answer))
      const { targetSession } = await client.calls.get(answer.call_id)
      assert.ok(
        (await opencode.list()).some(
          ({ metadata }) =>
            (metadata?.['tieline'] as { session?: string } | undefined)?.session === targetSession,
        ),
      )
      return `${answer.tokens_used} tokens`
    },
  },
  {
    name: 'a cancel stops it in opencode',
    async run({ opencode, client, fake }) {
      const session = await opencode.create('stopped')
      fake.rules.unshift({ when: { user: 'Never end' }, hang: 'before' })
      await client.sessions.send(await waitForSession(client, session), { message: 'Never end' })
      const request = await waitFor('the request', async () =>
        fake.requests.find(
          ({ user, system }) => user.includes('Never end') && !/title generator/i.test(system),
        ),
      )
      await client.sessions.cancel(toServerId(session), {})
      await waitFor('rest', async () => (await opencode.status())[session] === undefined)
      await waitFor('an end of the request', async () => request.abandoned)
      assert.equal((await client.sessions.wait(toServerId(session), { timeoutMs: 5000 })).isActive, false)
      return 'at rest, and its model is no longer asked'
    },
  },
  {
    name: 'a session is called at the server what opencode calls it',
    async run({ opencode, client }) {
      const session = await opencode.create('')
      await opencode.prompt(session, 'Hello')
      await waitFor(
        'the title',
        async () =>
          (await client.sessions.list({})).sessions.find(({ id }) => id === toServerId(session))?.title ===
          'A title',
      )
      return 'renamed when its title was found'
    },
  },
  {
    name: "uses of opencode's own tools are in the log, that they begin first, and one that throws too",
    async run(world) {
      const { opencode, fake, events } = world
      const session = await opencode.create('traced')
      fake.rules.unshift(
        ...answerWithTool('Read what is not there', 'read', {
          filePath: `${opencode.directory}/nothing.txt`,
        }),
        ...answerWithTool('Read what is there', 'read', { filePath: `${opencode.directory}/tieline.toml` }),
      )
      await opencode.prompt(session, 'Read what is there')
      await opencode.prompt(session, 'Read what is not there')
      const steps = await waitFor('the trace', async () => {
        const found = events.flatMap((event) =>
          (event.type === 'step.started' || event.type === 'step.ended') &&
          event.session === toServerId(session)
            ? [event]
            : [],
        )
        return found.length >= 4 ? found : null
      })
      assert.deepEqual(
        steps.map((step) => [step.type, step.name, step.type === 'step.ended' ? step.ok : null]),
        [
          ['step.started', 'read', null],
          ['step.ended', 'read', true],
          ['step.started', 'read', null],
          ['step.ended', 'read', false],
        ],
      )
      return 'four steps'
    },
  },
  {
    name: 'after a restart of opencode its sessions are the same, also one that was made for the server',
    async run({ opencode, client, fake }) {
      const own = await opencode.create('of before')
      const made = await client.sessions.create({
        cwd: opencode.directory,
        agent: agentName,
        initialMessage: 'Hello',
      })
      assert.equal(
        (await client.sessions.wait(made.sessionId, { timeoutMs: 50_000 })).lastMessage?.content,
        'ok',
      )
      const before = (await opencode.list()).length
      const server = opencode.server()
      await opencode.restart()
      fake.rules.unshift({ when: { user: 'Are you the same' }, text: 'I am.' })
      for (const session of [toServerId(own), made.sessionId]) {
        await client.sessions.send(session, { message: 'Are you the same?' })
        await opencode.list()
        assert.equal(
          (await client.sessions.wait(session, { timeoutMs: 50_000 })).lastMessage?.content,
          'I am.',
        )
      }
      assert.deepEqual([(await opencode.list()).length, opencode.server()], [before, server])
      return 'and the server went on without it'
    },
  },
]
