/**
 * The OpenCode plugin in the real opencode, with a scripted model: our tools inside, messages as prompts,
 * mail, forks, drafts, cancel and tracing.
 * No network but loopback, once opencode is installed. The server is started by the plugin itself.
 */
import assert from 'node:assert/strict'
import { tielineClient, type TielineClient } from '../src/client/client.ts'
import type { Event } from '../src/model/event.ts'
import { fakeModel } from '../test/fake-model.ts'
import { known, ours, secret, toolUse, until, uses, type Check, type World } from './opencode-kit.ts'
import { mailChecks } from './opencode-mail-checks.ts'
import { agentName, startOpencode, version } from './opencode-process.ts'

const checks: readonly Check[] = [
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
      assert.deepEqual(send?.parameters.required, ['message'])
      assert.match(call?.description ?? '', /coder \(knows the secret word\)/)
      assert.ok(
        fake.requests.some(({ system }) => system.includes(`you are session ${ours(session)}`)),
        'the session is not told its own name',
      )
      assert.ok((await client.sessions.list({})).sessions.some(({ id }) => id === ours(session)))
      return 'ours are shown with their own schemas'
    },
  },
  {
    name: 'a session calls an agent of the server, and the call is on record as its own',
    async run(world) {
      const session = await world.opencode.create('caller')
      const answer = await toolUse<{ success: boolean; output: string; call_id: string }>(
        world,
        session,
        'sub_agent',
        { agent_name: 'coder', task: 'Say the secret word' },
      )
      assert.ok(answer.success && answer.output.includes(secret), JSON.stringify(answer))
      const record = await world.client.calls.get(answer.call_id)
      assert.equal((await world.client.sessions.get(record.callerSession)).parent, ours(session))
      const again = await toolUse<{ text: string }>(world, session, 'read_output', {
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
      // Its user is at work when the message comes: it waits, and neither answer is taken for the other.
      const busy = opencode.prompt(session, 'Take your time')
      await until('busy', async () => (await opencode.status())[session] !== undefined)
      await client.sessions.send(ours(session), { message: 'What do you see?' })
      const state = await client.sessions.wait(ours(session), { timeoutMs: 50_000 })
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
        ...uses(
          'Find out the word',
          'sub_agent',
          { agent_name: 'coder', task: 'Say the secret word' },
          'I know it.',
        ),
      )
      const { flow } = await client.sessions.send(await known(client, session), {
        message: 'Find out the word',
      })
      assert.equal(
        (await client.sessions.wait(ours(session), { timeoutMs: 50_000 })).lastMessage?.content,
        'I know it.',
      )
      const {
        calls: [call],
      } = await client.flow(flow ?? '')
      assert.deepEqual([call?.callerSession, call?.depth, call?.success], [ours(session), 1, true])
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
      await client.sessions.send(await known(client, session), { message: 'Never end' })
      const request = await until('the request', async () =>
        fake.requests.find(
          ({ user, system }) => user.includes('Never end') && !/title generator/i.test(system),
        ),
      )
      await client.sessions.cancel(ours(session), {})
      await until('rest', async () => (await opencode.status())[session] === undefined)
      await until('an end of the request', async () => request.abandoned)
      assert.equal((await client.sessions.wait(ours(session), { timeoutMs: 5000 })).isActive, false)
      return 'at rest, and its model is no longer asked'
    },
  },
  {
    name: 'a session is called at the server what opencode calls it',
    async run({ opencode, client }) {
      const session = await opencode.create('')
      await opencode.prompt(session, 'Hello')
      await until(
        'the title',
        async () =>
          (await client.sessions.list({})).sessions.find(({ id }) => id === ours(session))?.title ===
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
        ...uses('Read what is not there', 'read', { filePath: `${opencode.directory}/nothing.txt` }),
        ...uses('Read what is there', 'read', { filePath: `${opencode.directory}/tieline.toml` }),
      )
      await opencode.prompt(session, 'Read what is there')
      await opencode.prompt(session, 'Read what is not there')
      const steps = await until('the trace', async () => {
        const found = events.flatMap((event) =>
          (event.type === 'step.started' || event.type === 'step.ended') && event.session === ours(session)
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
      for (const session of [ours(own), made.sessionId]) {
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
  ...mailChecks,
  {
    name: 'where the server has died, the next use of a tool starts another, which knows everything',
    async run(world) {
      const session = await world.opencode.create('survivor')
      await known(world.client, session)
      const before = world.opencode.server()
      process.kill(before?.pid ?? 0, 'SIGKILL')
      const { sessions } = await toolUse<{ sessions: { id: string }[] }>(world, session, 'list-session', {})
      assert.ok(sessions.some(({ id }) => id === ours(session)))
      assert.notEqual(world.opencode.server()?.pid, before?.pid)
      return 'found again'
    },
  },
]

/** Follows the server for as long as the checks run. */
async function follow(client: TielineClient, events: Event[], signal: AbortSignal): Promise<void> {
  for await (const { event } of client.events({ after: '0', signal })) events.push(event)
}

async function main(): Promise<number> {
  const fake = await fakeModel([{ when: { system: /title generator/i }, text: 'A title' }, { text: 'ok' }], {
    toolRoundsMax: 100,
  })
  const opencode = await startOpencode(fake.url, secret)
  let failed = 1
  const beganAt = Date.now()
  const over = new AbortController()
  const chosen = checks.filter(({ name }) => name.includes(process.argv[2] ?? ''))
  try {
    // The plugin begins with the first request.
    await opencode.list()
    const { url } = await until('a server', async () => opencode.server())
    const world: World = { fake, opencode, client: tielineClient({ url }), events: [] }
    void follow(world.client, world.events, over.signal).catch((error: unknown) => console.error(error))
    failed = 0
    for (const { name, run } of chosen) {
      try {
        console.log(`ok   opencode ${version}: ${name}: ${await run(world)}`)
      } catch (error) {
        failed += 1
        console.log(
          `FAIL opencode ${version}: ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
        )
      }
    }
  } finally {
    over.abort()
    if (failed > 0) console.log(opencode.log().slice(-5000))
    await opencode.close()
    await fake.close()
  }
  console.log(
    `${chosen.length - failed} of ${chosen.length} checks passed, in ${Math.round((Date.now() - beganAt) / 1000)} s`,
  )
  return failed === 0 ? 0 : 1
}

process.exitCode = await main()
