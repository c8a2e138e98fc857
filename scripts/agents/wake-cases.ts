/** What must hold between programs that a person has open. Each answers with what is printed. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import type { TielineClient } from '../../src/client/client.ts'
import type { StreamedEvent } from '../../src/wire/log.ts'
import type { FakeRequest } from '../../test/kits/fake-model.ts'
import { pause, rests, type OpenId, type OpenProgram } from './open-programs.ts'
import { addRules, waitFor, type World } from './world.ts'

let count = 0
/** A word that nothing else has. */
export const nextWord = (name: string): string => `${name}-${(count += 1)}-of-all`

/** Earlier ones may stand above it. */
const announcedId = ({ user }: FakeRequest): string =>
  [...user.matchAll(/inbox: (\S+) from/g)].at(-1)?.[1] ?? 'none'

/** Told of mail, it takes it and answers with `pong`. What OpenCode takes is its next prompt, which it answers. */
export function scriptAnswer(
  world: World,
  who: OpenProgram,
  { ping, pong }: { ping: string; pong: string },
  delayMs = 0,
): void {
  const when = { user: /in your inbox: /, wire: who.wire }
  if (who.id === 'opencode')
    return addRules(
      world,
      { when: { user: ping, wire: who.wire }, text: pong },
      { when, times: 1, delayMs, tools: [{ ...who.nameTool('buffer'), input: acceptInput }] },
      { when, text: 'It comes.' },
    )
  addRules(
    world,
    { when, times: 1, delayMs, tools: [{ ...who.nameTool('buffer'), input: acceptInput }] },
    { when, times: 1, tools: [{ ...who.nameTool('send-message'), input: answerWith(pong) }] },
    { when, text: `${who.id} has answered.` },
  )
}
const acceptInput = (asked: FakeRequest): object => ({ accept: announcedId(asked) })
const answerWith =
  (pong: string) =>
  (asked: FakeRequest): object => ({ reply: [announcedId(asked)], message: pong })

/** Whether the model of a program was asked with this. */
export const wasShown = ({ fake }: World, who: OpenProgram, text: string): boolean =>
  fake.requests.some(({ wire, user }) => wire === who.wire && user.includes(text))

/** The same, wherever it stands: what comes with a prompt is no part of it for every program. */
export const wasSeen = ({ fake }: World, who: OpenProgram, text: string): boolean =>
  fake.requests.some(({ wire, body }) => wire === who.wire && JSON.stringify(body).includes(text))

/** One asks the other in mail, which wakes it; its answer wakes the first. */
export async function talk(
  world: World,
  client: TielineClient,
  from: OpenProgram,
  to: OpenProgram,
): Promise<string> {
  const [prompt, ping, pong] = [
    nextWord(`Write-from-${from.id}-to-${to.id}`),
    nextWord('ping'),
    nextWord('pong'),
  ]
  const input = { session: to.session, message: ping }
  scriptAnswer(world, to, { ping, pong })
  addRules(
    world,
    { when: { user: pong, wire: from.wire }, text: `${from.id} has ${pong}.` },
    { when: { user: prompt }, times: 1, tools: [{ ...from.nameTool('send-message'), input }] },
    { when: { user: prompt }, text: 'I rest.' },
  )
  // The answer could come before the first rests, which would be told with its tool then, and not woken.
  await client.quiet.set({ session: to.session, ms: 120_000 })
  await from.ask(prompt)
  await waitFor(`${from.id} has written`, async () =>
    (await client.mail.inbox(to.session)).messages.some(({ message }) => message === ping),
  )
  await rests(client, from)
  const beganAt = Date.now()
  await client.quiet.set({ session: to.session, ms: 0 })
  await waitFor(`${to.id} is told of ${ping}`, () => wasShown(world, to, 'in your inbox'))
  await waitFor(`${from.id} is woken by ${pong}`, () => wasShown(world, from, pong))
  await waitFor(`the terminal of ${from.id} shows it`, () => from.terminal.screen().includes(`has ${pong}`))
  await Promise.all([rests(client, from), rests(client, to)])
  return `${to.id} woken by mail of ${from.id}, ${from.id} by its answer, ${Date.now() - beganAt} ms`
}

/** Mail of a peer starts it, `rounds` times. */
export async function wakeAgain(
  world: World,
  client: TielineClient,
  who: OpenProgram,
  rounds: number,
): Promise<string> {
  const { sessionId: peer } = await client.sessions.create({ cwd: who.directory, agent: 'external' })
  const times: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const [ping, pong] = [nextWord('ping'), nextWord('pong')]
    scriptAnswer(world, who, { ping, pong })
    const beganAt = Date.now()
    await client.mail.send({ from: peer, session: who.session, message: ping })
    await waitFor(`the answer of round ${round}`, async () =>
      (await client.mail.inbox(peer)).messages.some(({ message }) => message === pong),
    )
    await rests(client, who)
    times.push(Date.now() - beganAt)
    if (rounds > 3) console.log(`     round ${round}: ${times.at(-1)} ms`)
  }
  const middle = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]
  return `${rounds} rounds, ${middle} ms each`
}

export const countWakes = async (client: TielineClient, session: string): Promise<number> =>
  (await readEvents(client, 'session.woken')).filter((event) => event.session === session).length

/** Two messages at once start it once, and it is told of both. */
export async function twoAtOnce(world: World, client: TielineClient, who: OpenProgram): Promise<string> {
  const { sessionId: peer } = await client.sessions.create({ cwd: who.directory, agent: 'external' })
  const before = await countWakes(client, who.session)
  addRules(world, { when: { user: /in your inbox: /, wire: who.wire }, text: 'I have seen both.' })
  const quiet = await client.quiet.set({ session: who.session, ms: 60_000 })
  assert.equal(quiet.sessions.length, 1)
  const sent = await Promise.all(
    ['first', 'second'].map((message) => client.mail.send({ from: peer, session: who.session, message })),
  )
  await client.quiet.set({ session: who.session, ms: 0 })
  for (const { id } of sent) await waitFor(`it is told of ${id}`, () => wasShown(world, who, id))
  await rests(client, who)
  assert.equal((await countWakes(client, who.session)) - before, 1, 'it was woken more than once')
  for (const { id } of sent) await client.mail.decline(id)
  return 'one wake for both'
}

/** What comes while a tool runs is told with its result. */
export async function whileBusy(world: World, client: TielineClient, who: OpenProgram): Promise<string> {
  const { sessionId: peer } = await client.sessions.create({ cwd: who.directory, agent: 'external' })
  const before = await countWakes(client, who.session)
  const [prompt, task] = [nextWord(`Call-slow-${who.id}`), nextWord('slow-task')]
  const input = { agent_name: 'slow', task }
  addRules(
    world,
    { when: { user: task }, text: 'It took long.', delayMs: 6000 },
    { when: { user: prompt }, times: 1, tools: [{ ...who.nameTool('sub_agent'), input }] },
    { when: { user: /in your inbox: /, wire: who.wire }, text: 'I have read it.' },
    { when: { user: prompt }, text: 'I have read it.' },
  )
  await who.ask(prompt)
  await waitFor('the tool runs', async () =>
    (await client.calls.list({ limit: 20 })).some((call) => call.task === task && call.outcome === null),
  )
  const { id } = await client.mail.send({ from: peer, session: who.session, message: 'in between' })
  await waitFor('its model is told', () => wasSeen(world, who, id))
  const ended = (await client.calls.list({ limit: 20 })).find((call) => call.task === task)
  assert.notEqual(ended?.outcome, null, 'it was told before its tool had ended')
  await rests(client, who)
  assert.equal(await countWakes(client, who.session), before, 'it was woken while it worked')
  await client.mail.decline(id)
  return 'told after the running tool, not woken'
}

/** While it is quiet, nothing starts it; afterwards it is told. */
export async function whileQuiet(world: World, client: TielineClient, who: OpenProgram): Promise<string> {
  const { sessionId: peer } = await client.sessions.create({ cwd: who.directory, agent: 'external' })
  addRules(world, { when: { user: /in your inbox: /, wire: who.wire }, text: 'I have seen it.' })
  await client.quiet.set({ ms: 6000 })
  const { id } = await client.mail.send({ from: peer, session: who.session, message: 'not now' })
  await pause(4000)
  assert.ok(!wasShown(world, who, id), 'it was told while it was quiet')
  await waitFor('it is told afterwards', () => wasShown(world, who, id))
  await rests(client, who)
  await client.mail.decline(id)
  return 'held for its time, told afterwards'
}

/** What came while it was closed is told to the same conversation, and mail to the directory to a new one. */
export async function whileClosed(world: World, client: TielineClient, who: OpenProgram): Promise<string> {
  const { sessionId: peer } = await client.sessions.create({ cwd: who.directory, agent: 'external' })
  const seen = { when: { user: /in your inbox: /, wire: who.wire }, text: 'I have seen it.' }
  const [begun, again, prompt] = [nextWord('Hello-first'), nextWord('Hello-again'), nextWord('Hello-new')]
  addRules(
    world,
    { when: { user: begun }, text: 'We have begun.' },
    { when: { user: again }, text: 'Here I am.' },
    { when: { user: prompt }, text: 'New.' },
    seen,
  )
  // Without a word there is no conversation to go on with.
  await who.ask(begun)
  await waitFor('a conversation', () => who.terminal.screen().includes('We have begun'))
  await rests(client, who)
  await who.leave()
  await waitFor(`${who.id} is closed`, async () => {
    const { presence, wakeable } = await client.sessions.get(who.session)
    return !wakeable && presence !== 'idle' && presence !== 'working'
  })
  const { id } = await client.mail.send({ from: peer, session: who.session, message: 'while you were away' })
  await who.reopen('resume')
  await who.ask(again)
  await waitFor('the same conversation is told', () => wasSeen(world, who, id))
  await client.mail.decline(id)
  const address = addresses[who.id]
  if (address === undefined) return 'told when it was resumed'
  await rests(client, who)
  await who.leave()
  const sent = await client.mail.send({
    from: peer,
    session: `${address}@${who.directory}`,
    message: 'whoever comes',
  })
  await who.reopen('new')
  await who.ask(prompt)
  await waitFor('a new one is told', () => wasSeen(world, who, sent.id))
  await client.mail.decline(sent.id)
  return 'told when it was resumed; mail to the directory, to a new one'
}
/** Sessions of OpenCode's plugin have no address together. */
const addresses: Partial<Record<OpenId, string>> = { claude: 'claude-code', codex: 'codex-mcp-client' }

/** The server dies after it has told the session, before the session has taken its mail. */
export async function survivesKill(
  world: World,
  client: () => Promise<TielineClient>,
  who: OpenProgram,
): Promise<string> {
  const first = await client()
  const { sessionId: peer } = await first.sessions.create({ cwd: who.directory, agent: 'external' })
  const [ping, pong] = [nextWord('ping'), nextWord('pong')]
  scriptAnswer(world, who, { ping, pong }, 3000)
  const { id } = await first.mail.send({ from: peer, session: who.session, message: ping })
  await waitFor('it is told', () => wasShown(world, who, id))
  const killed = world.server()?.pid ?? 0
  process.kill(killed, 'SIGKILL')
  // Its next tool starts another one, which knows everything.
  await waitFor('another server', () => {
    const running = world.server()
    return running !== null && running.pid !== killed && existsSync(`/proc/${running.pid}`)
  })
  const second = await client()
  await waitFor('the answer', async () =>
    (await second.mail.inbox(peer)).messages.some(({ message }) => message === pong),
  )
  await rests(second, who)
  const answers = (await second.mail.inbox(peer)).messages.filter(({ message }) => message === pong)
  assert.equal(answers.length, 1)
  const told = (await readEvents(second, 'mail.announced')).filter(
    (event) => event.type === 'mail.announced' && event.messages.includes(id),
  )
  assert.equal(told.length, 1, 'it was told twice')
  return 'taken and answered once, told once'
}

/** No session was told of the same message twice. */
export async function checkOnce(client: TielineClient): Promise<string> {
  const told = (await readEvents(client, 'mail.announced')).flatMap((event) =>
    event.type === 'mail.announced' ? event.messages.map((message) => `${event.session} ${message}`) : [],
  )
  assert.equal(new Set(told).size, told.length, 'a message was announced twice')
  return `${told.length} messages announced, none twice`
}

export async function readEvents(client: TielineClient, type: string): Promise<StreamedEvent['event'][]> {
  const { text } = await client.export({})
  return text
    .split('\n')
    .filter((line) => line.includes(`"${type}"`))
    .flatMap((line) => {
      const parsed = JSON.parse(line) as { event?: StreamedEvent['event']; events?: StreamedEvent['event'][] }
      return parsed.events ?? (parsed.event === undefined ? [] : [parsed.event])
    })
    .filter((event) => event.type === type)
}
