/**
 * Programs that a person has open, in real terminals, with a scripted model: mail starts a session that rests, and
 * what answers it comes back. `node scripts/test-wake.ts --rounds 50` repeats it; without a number, three times.
 */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TielineClient } from '../src/client/client.ts'
import type { StreamedEvent } from '../src/wire/log.ts'
import { agentPrograms, type AgentProgram } from './agents/programs.ts'
import { openTerminal, type Terminal } from './agents/terminal.ts'
import { openWorld, waitFor, type World } from './agents/world.ts'

const at = process.argv.indexOf('--rounds')
const rounds = at === -1 ? 3 : Number(process.argv[at + 1])

const find = (id: string): AgentProgram => {
  const found = agentPrograms.find((program) => program.id === id)
  assert.ok(found)
  return found
}
const claude = find('claude')

/** Everything wakes, as often as the test wants. */
function configure(world: World, directory: string): void {
  appendFileSync(
    join(world.home, '.config', 'tieline', 'tieline.toml'),
    '\n[wake]\ndefault = "wake"\nperHour = 100\n',
  )
  const file = join(world.home, '.claude.json')
  const known = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(
    file,
    JSON.stringify({ ...known, projects: { [directory]: { hasTrustDialogAccepted: true } } }),
  )
}

const openClaude = (world: World, directory: string, ...more: string[]): Terminal => {
  const { command, args } = claude.ask('')
  // The same program without -p and its prompt.
  const [script = ''] = args
  return openTerminal(
    world,
    'claude',
    { command, args: [script, '--allowedTools', 'mcp__tieline', ...more] },
    { cwd: directory, env: claude.env(world) },
  )
}

/** When the session reads this id, it takes the message and answers it. */
function scriptAnswer({ fake }: World, id: string, pong: string): void {
  const when = { user: id }
  fake.rules.splice(
    1,
    0,
    { when, times: 1, tools: [{ ...claude.nameTool('buffer'), input: { accept: id } }] },
    {
      when,
      times: 1,
      tools: [{ ...claude.nameTool('send-message'), input: { reply: [id], message: pong } }],
    },
    { when, text: `Done with ${id}` },
  )
}

async function readEvents(client: TielineClient, type: string): Promise<StreamedEvent['event'][]> {
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

async function main(): Promise<number> {
  const world = await openWorld()
  const directory = world.directory('claude')
  let terminal: Terminal | null = null
  try {
    configure(world, directory)
    claude.addHooks?.(world)
    await world.tieline('sessions')
    terminal = openClaude(world, directory)
    const client = await waitFor('a server', () => (world.server() === null ? null : world.client()))
    const session = await waitFor('an open session', async () => {
      const { sessions } = await client.sessions.list({})
      return sessions.find(({ presence, wakeable }) => presence === 'idle' && wakeable)
    })
    console.log(`ok   ${session.id} is open, rests and can be woken`)
    const { sessionId: peer } = await client.sessions.create({ cwd: directory, agent: 'external' })
    for (let round = 1; round <= rounds; round += 1) {
      const [id, pong] = [`ping-${round}-of-${rounds}`, `pong ${round}`]
      scriptAnswer(world, id, pong)
      const beganAt = Date.now()
      await client.mail.send({ id, from: peer, session: session.id, message: `ping ${round}` })
      await waitFor(`the answer of round ${round}`, async () =>
        (await client.mail.inbox(peer)).messages.some(({ message }) => message === pong),
      )
      await waitFor('rest', async () => {
        const { presence, wakeable } = await client.sessions.get(session.id)
        return presence === 'idle' && wakeable
      })
      console.log(`ok   round ${round}: started and answered in ${Date.now() - beganAt} ms`)
    }
    const announced = (await readEvents(client, 'mail.announced')).flatMap((event) =>
      event.type === 'mail.announced' ? event.messages : [],
    )
    assert.equal(new Set(announced).size, announced.length, 'a message was announced twice')
    assert.equal(announced.length, rounds)
    console.log(`ok   ${announced.length} messages announced, none twice`)
    return 0
  } catch (error) {
    console.log(`FAIL ${error instanceof Error ? error.message : String(error)}`)
    console.log(terminal?.screen())
    return 1
  } finally {
    terminal?.close()
    await world.close()
  }
}

process.exitCode = await main()
