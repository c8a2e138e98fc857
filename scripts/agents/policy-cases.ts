/** What `[wake]` decides for programs that a person has open: each case gives the server other settings. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TielineClient } from '../../src/client/client.ts'
import type { FakeRequest } from '../../test/kits/fake-model.ts'
import { pause, rests, type OpenProgram } from './open-programs.ts'
import { addRules, waitFor, type World } from './world.ts'
import { countWakes, nextWord, scriptAnswer, wasSeen, wasShown } from './wake-cases.ts'

const heldMs = 5000
/** So long the other has to come to rest: while it works it would be told with its tool, and not woken. */
const thinkMs = 2500

/** Another server, with these lines in place of what `[wake]` says; the programs find it by themselves. */
async function setWake(world: World, wanted: Record<string, string>): Promise<void> {
  const file = join(world.home, '.config', 'tieline', 'tieline.toml')
  const before = readFileSync(file, 'utf8')
  const after = Object.entries(wanted).reduce(
    (text, [key, value]) => text.replace(new RegExp(`^${key} = .*$`, 'm'), `${key} = ${value}`),
    before,
  )
  // First: a program that misses the server starts the next one at once.
  writeFileSync(file, after)
  await world.tieline('stop')
  await world.tieline('call', 'coder', 'Say it', '--background')
}

/** Nobody is told, not even with a prompt; when the policy is another, what has waited is told. */
export async function whileHeld(
  world: World,
  client: () => Promise<TielineClient>,
  all: readonly OpenProgram[],
): Promise<string> {
  await setWake(world, { default: '"hold"' })
  const sent = new Map<OpenProgram, string>()
  try {
    const held = await client()
    for (const who of all) await rests(held, who)
    for (const who of all) sent.set(who, await holdOne(world, held, who))
  } finally {
    for (const { wire } of all)
      addRules(world, { when: { user: /in your inbox: /, wire }, text: 'I have seen it.' })
    await setWake(world, { default: '"wake"' })
  }
  const again = await client()
  for (const [who, id] of sent) {
    await waitFor(`${who.id} is told afterwards`, () => wasSeen(world, who, id))
    await rests(again, who)
    await again.mail.decline(id)
  }
  return `nobody woken or told for ${heldMs} ms and a prompt; told when the policy allows it`
}

async function holdOne(world: World, client: TielineClient, who: OpenProgram): Promise<string> {
  const { sessionId: peer } = await client.sessions.create({ cwd: who.directory, agent: 'external' })
  const before = await countWakes(client, who.session)
  const { id } = await client.mail.send({ from: peer, session: who.session, message: 'not before you ask' })
  await pause(heldMs)
  const prompt = nextWord('Hello-held')
  addRules(world, { when: { user: prompt }, text: `Held, ${prompt}.` })
  await who.ask(prompt)
  await waitFor(`${who.id} answers`, () => who.terminal.screen().includes(`Held, ${prompt}`))
  await rests(client, who)
  assert.ok(!wasSeen(world, who, id), `${who.id} was told of what is held`)
  assert.equal(await countWakes(client, who.session), before, `${who.id} was woken`)
  return id
}

const repliedId = ({ user }: FakeRequest): string =>
  [...user.matchAll(/accept "(\S+?)"/g)].at(-1)?.[1] ?? 'none'

/** Two that answer each other without end are started `limit` times more, and then rest. */
export async function whileLooping(
  world: World,
  client: () => Promise<TielineClient>,
  [from, to]: readonly [OpenProgram, OpenProgram],
  limit = 3,
): Promise<string> {
  const start = await client()
  const before = Math.max(await countWakes(start, from.session), await countWakes(start, to.session))
  await setWake(world, { perHour: String(before + limit) })
  const at = await client()
  const both = [from, to]
  for (const who of both) await rests(at, who)
  const [prompt, ping, pong] = [nextWord('Begin-a-loop'), nextWord('ping'), nextWord('pong')]
  scriptAnswer(world, to, { ping, pong }, thinkMs)
  const input = { session: to.session, message: ping }
  addRules(
    world,
    { when: { user: prompt }, times: 1, tools: [{ ...from.nameTool('send-message'), input }] },
    { when: { user: prompt }, text: 'I rest.' },
  )
  // Before the prompt, which may stand above what wakes it.
  const turns = both.flatMap((who) => {
    const when = { user: /a reply to your message/, wire: who.wire }
    const once = Array.from({ length: limit + 3 }, () => [
      { when, times: 1, delayMs: thinkMs, tools: [{ ...who.nameTool('buffer'), input: takeReply }] },
      { when, times: 1, tools: [{ ...who.nameTool('send-message'), input: answerReply }] },
      { when, times: 1, text: 'And you?' },
    ])
    return once.flat()
  })
  addRules(world, ...turns)
  await from.ask(prompt)
  await waitFor(`${from.id} is woken by ${pong}`, () => wasShown(world, from, pong))
  const wakes = (): Promise<number[]> => Promise.all(both.map((who) => countWakes(at, who.session)))
  let [last, since] = ['', Date.now()]
  await waitFor('the loop rests', async () => {
    const now = (await wakes()).join()
    if (now !== last) [last, since] = [now, Date.now()]
    return Date.now() - since > heldMs + thinkMs
  })
  for (const who of both) await rests(at, who)
  const counts = await wakes()
  assert.ok(
    Math.max(...counts) === before + limit,
    `woken ${counts.join(' and ')} times of ${before + limit}`,
  )
  return `both together woken until one of them had its ${before + limit} of an hour, then at rest`
}
const takeReply = (asked: FakeRequest): object => ({ accept: repliedId(asked) })
const answerReply = (asked: FakeRequest): object => ({
  reply: [repliedId(asked)],
  message: `I say ${asked.results.length}`,
})
