/**
 * The OpenCode plugin in the real opencode, with a scripted model: our tools inside, messages as prompts, mail, forks, drafts, cancel and tracing.
 * No network but loopback, once opencode is installed. The server is started by the plugin itself.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { tielineClient, type TielineClient } from '../src/client/client.ts'
import type { Event } from '../src/model/event.ts'
import { fakeModel, type FakeModel, type FakeRule } from '../test/fake-model.ts'
import { agentName, startOpencode, version, type Opencode } from './opencode-process.ts'

const secret = 'tangerine'
const waitMsMax = 60_000

type World = { fake: FakeModel; opencode: Opencode; client: TielineClient; /** Everything that has happened at the server. */ events: Event[] }
type Check = { name: string; run: (world: World) => Promise<string> }

const ours = (own: string): string => `ses_${agentName}-${own}`

/** The model answers the next prompt with this text in it by one tool, and then says so. */
const uses = (user: string, name: string, input: unknown, then = 'Done.'): FakeRule[] => [{ when: { user }, times: 1, tools: [{ name, input }] }, { when: { user }, text: then }]

async function until<T>(what: string, look: () => Promise<T | null | undefined | false>): Promise<T> {
  for (const end = Date.now() + waitMsMax; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 200))) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
  }
  throw new Error(`${what}: it did not come in ${waitMsMax / 1000} s`)
}

/** What the tool answered, as the model read it. */
async function toolUse<T>({ opencode, fake }: World, session: string, name: string, input: unknown): Promise<T> {
  const prompt = `Use ${name}, try ${fake.rules.length}`
  fake.rules.unshift(...uses(prompt, name, input))
  await opencode.prompt(session, prompt)
  const used = (await opencode.messages(session)).flatMap(({ parts }) => parts).findLast((part) => part.type === 'tool' && part.tool === name)
  assert.equal(used?.state?.status, 'completed', `${name}: ${JSON.stringify(used?.state)}`)
  return JSON.parse(used?.state?.output ?? '') as T
}

const checks: readonly Check[] = [
  {
    name: 'the plugin starts the server, and has the tools',
    async run({ opencode, client, fake }) {
      const session = await opencode.create('first')
      await opencode.prompt(session, 'Hello')
      const shown = fake.requests.flatMap(({ body }) => (body['tools'] as { function: { name: string; description: string; parameters: { required?: string[] } } }[] | undefined) ?? []).map((tool) => tool.function)
      for (const name of ['list-session', 'send-message', 'buffer', 'sub_agent', 'call_agent', 'wait_for_call', 'send_agent_message', 'create_agent_session']) assert.ok(shown.some((tool) => tool.name === name), `${name} is not shown`)
      const [send, call] = ['send-message', 'sub_agent'].map((name) => shown.find((tool) => tool.name === name))
      assert.deepEqual(send?.parameters.required, ['message'])
      assert.match(call?.description ?? '', /coder \(knows the secret word\)/)
      assert.ok(fake.requests.some(({ system }) => system.includes(`you are session ${ours(session)}`)), 'the session is not told its own name')
      assert.ok((await client.sessions.list({})).sessions.some(({ id }) => id === ours(session)))
      return 'ours are shown with their own schemas'
    },
  },
  {
    name: 'a session calls an agent of the server, and the call is on record as its own',
    async run(world) {
      const session = await world.opencode.create('caller')
      const answer = await toolUse<{ success: boolean; output: string; call_id: string }>(world, session, 'sub_agent', { agent_name: 'coder', task: 'Say the secret word' })
      assert.ok(answer.success && answer.output.includes(secret), JSON.stringify(answer))
      const record = await world.client.calls.get(answer.call_id)
      assert.equal((await world.client.sessions.get(record.callerSession)).parent, ours(session))
      const again = await toolUse<{ text: string }>(world, session, 'read_output', { call_id: answer.call_id })
      assert.ok(again.text.includes(secret), JSON.stringify(again))
      return `answered; by ${record.caller}`
    },
  },
  {
    name: 'a message to a session becomes a prompt in it, and its answer is the answer of the turn, not the next one',
    async run({ opencode, client, fake }) {
      const session = await opencode.create('receiver')
      fake.rules.unshift({ when: { user: 'What do you see' }, text: 'A lighthouse.' }, { when: { user: 'Take your time' }, text: 'At last.', delayMs: 3000 })
      await opencode.prompt(session, 'Hello')
      // Its user is at work when the message comes: it waits, and neither answer is taken for the other.
      const busy = opencode.prompt(session, 'Take your time')
      await until('busy', async () => (await opencode.status())[session] !== undefined)
      await client.sessions.send(ours(session), { message: 'What do you see?' })
      const state = await client.sessions.wait(ours(session), { timeoutMs: 50_000 })
      assert.equal(state.lastMessage?.content, 'A lighthouse.')
      assert.ok((await busy).parts.some((part) => part.text === 'At last.'))
      const texts = (await opencode.messages(session)).map(({ info, parts }) => `${info.role}: ${parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')}`)
      assert.deepEqual(texts.slice(-4), ['user: Take your time', 'assistant: At last.', 'user: What do you see?', 'assistant: A lighthouse.'])
      return 'answered after the user was served'
    },
  },
  {
    name: 'what is done for a message keeps its place below it',
    async run({ opencode, client, fake }) {
      const session = await opencode.create('between')
      fake.rules.unshift(...uses('Find out the word', 'sub_agent', { agent_name: 'coder', task: 'Say the secret word' }, 'I know it.'))
      const { flow } = await client.sessions.send(await known(client, session), { message: 'Find out the word' })
      assert.equal((await client.sessions.wait(ours(session), { timeoutMs: 50_000 })).lastMessage?.content, 'I know it.')
      const { calls: [call] } = await client.flow(flow ?? '')
      assert.deepEqual([call?.callerSession, call?.depth, call?.success], [ours(session), 1, true])
      return `${call?.call ?? ''} is in ${flow ?? ''}`
    },
  },
  {
    name: 'a cancel stops it in opencode',
    async run({ opencode, client, fake }) {
      const session = await opencode.create('stopped')
      fake.rules.unshift({ when: { user: 'Never end' }, hang: 'before' })
      await client.sessions.send(await known(client, session), { message: 'Never end' })
      const request = await until('the request', async () => fake.requests.find(({ user, system }) => user.includes('Never end') && !/title generator/i.test(system)))
      await client.sessions.cancel(ours(session), {})
      await until('rest', async () => (await opencode.status())[session] === undefined)
      await until('an end of the request', async () => request.abandoned)
      assert.equal((await client.sessions.wait(ours(session), { timeoutMs: 5000 })).isActive, false)
      return 'at rest, and its model is no longer asked'
    },
  },
  {
    name: 'a session sends to another: it waits in the buffer, is listed, accepted, answered, and the reply arrives',
    async run(world) {
      const { opencode, client, fake, events } = world
      const [sender, receiver] = [await opencode.create('sender'), await opencode.create('receiver of mail')]
      await known(client, receiver)
      const sent = await toolUse<Mail>(world, sender, 'send-message', { session: ours(receiver), message: 'Which colour has the door?' })
      assert.deepEqual([sent.status, sent.buffered, sent.session], ['buffered', true, ours(receiver)])
      const { sessions } = await toolUse<{ sessions: { id: string; buffered: number }[] }>(world, sender, 'list-session', {})
      assert.equal(sessions.find(({ id }) => id === ours(receiver))?.buffered, 1)
      const listed = await toolUse<{ messages: { id: string; message: string; from: string }[]; instruction: string }>(world, receiver, 'buffer', {})
      assert.deepEqual(listed.messages.map(({ id, from }) => [id, from]), [[sent.id, ours(sender)]])
      assert.ok(!(await heard(opencode, receiver)).includes('Which colour'), 'it was delivered before it was accepted')
      fake.rules.unshift({ when: { user: 'Which colour has the door?' }, text: 'The door is green.' }, { when: { user: 'The door is green.' }, text: 'Thank you.' })
      const accepted = await toolUse<{ accepted: boolean; next: string }>(world, receiver, 'buffer', { accept: true })
      assert.ok(accepted.accepted && accepted.next !== '')
      await until('the reply', async () => (await heard(opencode, sender)).includes('The door is green.'))
      const reply = await until('its event', async () => events.find((event) => event.type === 'message.answered' && event.message === sent.id))
      await client.sessions.wait(ours(sender), { timeoutMs: 20_000 })
      await new Promise((resolve) => setTimeout(resolve, 1000))
      assert.equal(events.filter((event) => event.type === 'message.sent' && event.inReplyTo !== null).length, 1, 'a reply was answered by itself')
      await until('the AgentFS database', async () => readdirSync(opencode.mailDir).some((file) => file.includes(ours(receiver))))
      return `${sent.id} was answered by ${reply.type === 'message.answered' ? reply.reply : ''}, and lies in AgentFS`
    },
  },
  {
    name: 'a fork two messages back goes on from there, and changes nothing in the session it came from',
    async run(world) {
      const { opencode, fake } = world
      const session = await opencode.create('forked')
      for (const text of ['The first number is 1', 'The second number is 2', 'The third number is 3']) await opencode.prompt(session, text)
      fake.rules.unshift({ when: { user: 'Go on from there' }, text: 'From the second.' }, { when: { user: 'From the second.' }, text: 'Thank you.' })
      const sent = await toolUse<Mail>(world, session, 'send-message', { fork: 2, message: 'Go on from there' })
      const before = await heard(opencode, session)
      const fork = await until('the fork', async () => (await opencode.list()).find(({ metadata }) => (metadata?.['tieline'] as { session?: string } | undefined)?.session === sent.session))
      await until('its answer', async () => (await heard(opencode, fork.id)).includes('From the second.'))
      const said = await heard(opencode, fork.id)
      assert.ok(said.includes('The second number is 2') && !said.includes('The third number') && !said.includes('Use send-message'), said)
      await until('the reply', async () => (await heard(opencode, session)).includes('From the second.'))
      assert.ok((await heard(opencode, session)).startsWith(before))
      return `${fork.id} is ${sent.session ?? ''}`
    },
  },
  {
    name: 'a message to a new session makes one in opencode',
    async run(world) {
      const { opencode, fake } = world
      const session = await opencode.create('parent')
      fake.rules.unshift({ when: { user: 'Begin anew' }, text: 'I have begun.' })
      const sent = await toolUse<Mail>(world, session, 'send-message', { message: 'Begin anew' })
      const made = await until('the session', async () => (await opencode.list()).find(({ metadata }) => (metadata?.['tieline'] as { session?: string } | undefined)?.session === sent.session))
      await until('the reply', async () => (await heard(opencode, session)).includes('I have begun.'))
      assert.equal((await world.client.sessions.get(sent.session ?? '')).parent, ours(session))
      return made.id
    },
  },
  {
    name: 'a draft is revised twice and sent once',
    async run(world) {
      const { opencode, client, events } = world
      const [sender, receiver] = [await opencode.create('writer'), await opencode.create('reader')]
      await known(client, receiver)
      for (const message of ['One', 'Two', 'Three']) {
        const draft = await toolUse<Mail>(world, sender, 'send-message', { id: 'plan-1', session: ours(receiver), message, draft: true })
        assert.deepEqual([draft.status, draft.draft], ['draft', true])
      }
      const sent = await toolUse<Mail>(world, sender, 'send-message', { id: 'plan-1', message: 'Three', draft: false })
      assert.equal(sent.status, 'buffered')
      const { messages } = await toolUse<{ messages: { id: string; message: string; initial: string }[] }>(world, receiver, 'buffer', {})
      assert.deepEqual(messages.map(({ id, message, initial }) => [id, message.includes('Three'), initial.includes('One')]), [['plan-1', true, true]])
      const of = (type: Event['type']): number => events.filter((event) => event.type === type && 'message' in event && event.message === 'plan-1').length
      assert.deepEqual([of('message.drafted'), of('message.revised'), of('message.sent')], [1, 2, 1])
      return 'drafted, revised, revised, sent'
    },
  },
  {
    name: 'uses of opencode\'s own tools are in the log, that they begin first, and one that throws too',
    async run(world) {
      const { opencode, fake, events } = world
      const session = await opencode.create('traced')
      fake.rules.unshift(...uses('Read what is not there', 'read', { filePath: `${opencode.directory}/nothing.txt` }), ...uses('Read what is there', 'read', { filePath: `${opencode.directory}/tieline.toml` }))
      await opencode.prompt(session, 'Read what is there')
      await opencode.prompt(session, 'Read what is not there')
      const steps = await until('the trace', async () => {
        const found = events.flatMap((event) => ((event.type === 'step.started' || event.type === 'step.ended') && event.session === ours(session) ? [event] : []))
        return found.length >= 4 ? found : null
      })
      assert.deepEqual(steps.map((step) => [step.type, step.name, step.type === 'step.ended' ? step.ok : null]), [['step.started', 'read', null], ['step.ended', 'read', true], ['step.started', 'read', null], ['step.ended', 'read', false]])
      return 'four steps'
    },
  },
  {
    name: 'after a restart of opencode its sessions are the same, also one that was made for the server',
    async run({ opencode, client, fake }) {
      const own = await opencode.create('of before')
      const made = await client.sessions.create({ cwd: opencode.directory, agent: agentName, initialMessage: 'Hello' })
      assert.equal((await client.sessions.wait(made.sessionId, { timeoutMs: 50_000 })).lastMessage?.content, 'ok')
      const before = (await opencode.list()).length
      const server = opencode.server()
      await opencode.restart()
      fake.rules.unshift({ when: { user: 'Are you the same' }, text: 'I am.' })
      for (const session of [ours(own), made.sessionId]) {
        await client.sessions.send(session, { message: 'Are you the same?' })
        await opencode.list()
        assert.equal((await client.sessions.wait(session, { timeoutMs: 50_000 })).lastMessage?.content, 'I am.')
      }
      assert.deepEqual([(await opencode.list()).length, opencode.server()], [before, server])
      return 'and the server went on without it'
    },
  },
  {
    name: 'a session that is deleted in opencode is gone at the server, and its mail is told so',
    async run(world) {
      const { opencode, client, events } = world
      const [sender, receiver] = [await opencode.create('writes in vain'), await opencode.create('soon gone')]
      await known(client, receiver)
      const sent = await toolUse<Mail>(world, sender, 'send-message', { session: ours(receiver), message: 'Are you there?' })
      await opencode.remove(receiver)
      await until('the dead letter', async () => events.some((event) => event.type === 'message.died' && event.message === sent.id))
      return 'a dead letter'
    },
  },
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

type Mail = { id: string; session: string | null; status: string; draft: boolean; buffered: boolean }

/** Until the server has heard of a session of opencode. */
const known = (client: TielineClient, own: string): Promise<string> => until(`session ${own}`, async () => (await client.sessions.list({})).sessions.find(({ id }) => id === ours(own))?.id)

/** All that stands in a session of opencode. */
const heard = async (opencode: Opencode, session: string): Promise<string> => (await opencode.messages(session)).flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : []))).join('\n')

/** Follows the server for as long as the checks run. */
async function follow(client: TielineClient, events: Event[], signal: AbortSignal): Promise<void> {
  for await (const { event } of client.events({ after: '0', signal })) events.push(event)
}

async function main(): Promise<number> {
  const fake = await fakeModel([{ when: { system: /title generator/i }, text: 'A title' }, { text: 'ok' }], { toolRoundsMax: 100 })
  const opencode = await startOpencode(fake.url, secret)
  let failed = 0
  const beganAt = Date.now()
  const over = new AbortController()
  const chosen = checks.filter(({ name }) => name.includes(process.argv[2] ?? ''))
  try {
    // The plugin begins with the first request.
    await opencode.list()
    const { url } = await until('a server', async () => opencode.server())
    const world: World = { fake, opencode, client: tielineClient({ url }), events: [] }
    void follow(world.client, world.events, over.signal).catch((error: unknown) => console.error(error))
    for (const { name, run } of chosen) {
      try {
        console.log(`ok   opencode ${version}: ${name}: ${await run(world)}`)
      } catch (error) {
        failed += 1
        console.log(`FAIL opencode ${version}: ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
      }
    }
  } finally {
    over.abort()
    if (failed > 0) console.log(opencode.log().slice(-5000))
    await opencode.close()
    await fake.close()
  }
  console.log(`${chosen.length - failed} of ${chosen.length} checks passed, in ${Math.round((Date.now() - beganAt) / 1000)} s`)
  return failed === 0 ? 0 : 1
}

process.exitCode = await main()
