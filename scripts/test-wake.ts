/**
 * Programs that a person has open, in real terminals, with a scripted model: mail starts a session that rests, what
 * answers it comes back, and nothing is told twice. `--rounds 50` repeats the first; `--only=claude,codex` opens some;
 * `--cases=mail,closed` tries some of what is tried.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TielineClient } from '../src/client/client.ts'
import { endLeftOver } from './agents/left-over.ts'
import { openProgram, type OpenId, type OpenProgram } from './agents/open-programs.ts'
import { whileHeld, whileLooping } from './agents/policy-cases.ts'
import {
  checkOnce,
  readEvents,
  survivesKill,
  talk,
  twoAtOnce,
  wakeAgain,
  whileBusy,
  whileClosed,
  whileQuiet,
} from './agents/wake-cases.ts'
import { hasTmux } from './agents/terminal.ts'
import { openWorld, waitFor, type World } from './agents/world.ts'

const flags = process.argv.slice(2)
const rounds = flags.includes('--rounds') ? Number(flags[flags.indexOf('--rounds') + 1]) : 3
const readList = (name: string): string[] | undefined =>
  flags
    .find((flag) => flag.startsWith(`--${name}=`))
    ?.slice(name.length + 3)
    .split(',')
const [only, cases] = [readList('only'), readList('cases')]
const all: readonly OpenId[] = ['claude', 'codex', 'opencode']
const ids = all.filter((id) => only === undefined || only.includes(id))
const isTried = (name: string): boolean => cases === undefined || cases.includes(name)

let failed = 0
async function tryCase(name: string, world: World, run: () => Promise<string>): Promise<void> {
  const before = world.fake.requests.length
  try {
    console.log(`ok   ${name}: ${await run()}`)
  } catch (error) {
    failed += 1
    console.log(`FAIL ${name}: ${error instanceof Error ? error.message : String(error)}`)
    for (const { terminal } of opened) console.log(terminal.screen().replaceAll(/\n{3,}/g, '\n\n'))
    for (const { wire, user, results } of world.fake.requests.slice(before).slice(-5))
      console.log(
        `     asked ${wire}: ${user.slice(-300)}\n     after ${results.at(-1)?.slice(0, 400) ?? ''}`,
      )
  }
}

const opened: OpenProgram[] = []

async function tryAlone(world: World, client: () => Promise<TielineClient>, who: OpenProgram): Promise<void> {
  const times = who.id === 'claude' ? rounds : 2
  const alone: Record<string, [string, (at: TielineClient) => Promise<string>]> = {
    mail: ['started by mail', (at) => wakeAgain(world, at, who, times)],
    two: ['two at once', (at) => twoAtOnce(world, at, who)],
    busy: ['while it works', (at) => whileBusy(world, at, who)],
    quiet: ['while it is quiet', (at) => whileQuiet(world, at, who)],
  }
  for (const [name, [title, run]] of Object.entries(alone))
    if (isTried(name)) await tryCase(`${who.id}, ${title}`, world, async () => run(await client()))
}

async function runAll(world: World): Promise<void> {
  const client = (): Promise<TielineClient> =>
    waitFor('a server', async () => {
      if (world.server() === null) return null
      return world
        .client()
        .health()
        .then(() => world.client())
        .catch(() => null)
    })
  for (const id of ids)
    await tryCase(`${id} opens`, world, async () => {
      const who = await openProgram(world, await client(), id)
      opened.push(who)
      return `${who.session} rests and can be woken`
    })
  for (const who of opened) await tryAlone(world, client, who)
  if (isTried('talk'))
    for (const from of opened)
      for (const to of opened)
        if (from !== to)
          await tryCase(`${from.id} and ${to.id}`, world, async () => talk(world, await client(), from, to))
  for (const who of opened)
    if (isTried('kill')) await tryCase(`${who.id}, kill -9`, world, () => survivesKill(world, client, who))
  if (isTried('hold')) await tryCase('all, held', world, () => whileHeld(world, client, opened))
  // What OpenCode takes becomes a prompt, whose answer goes back by itself.
  const [first, second] = opened.filter(({ id }) => id !== 'opencode')
  if (isTried('loop') && first !== undefined && second !== undefined)
    await tryCase(`${first.id} and ${second.id}, without end`, world, () =>
      whileLooping(world, client, [first, second]),
    )
  for (const who of opened)
    if (isTried('closed'))
      await tryCase(`${who.id}, closed meanwhile`, world, async () => whileClosed(world, await client(), who))
  await tryCase('all', world, async () => checkOnce(await client()))
  if (failed > 0)
    for (const type of ['mail.announced', 'session.woken', 'session.opened', 'session.closed'])
      console.log(JSON.stringify((await readEvents(await client(), type)).slice(-8)))
}

if (!hasTmux()) {
  console.log('skipped: there is no tmux to open terminals in')
  process.exit(0)
}
const world = await openWorld(['claude', 'codex', 'opencode-plugin'])
try {
  appendFileSync(
    join(world.home, '.config', 'tieline', 'tieline.toml'),
    `
[wake]
default = "wake"
perHour = 100
codex = true

[providers.fake]
kind = "openai-compatible"
baseURL = "${world.model}"

[agents.slow]
description = "takes long"
driver = "model"
model = "fake/scripted"
`,
  )
  // The first that needs a server starts it, as for a user.
  await world.tieline('call', 'coder', 'Say it', '--background')
  await runAll(world)
} finally {
  for (const { terminal } of opened) terminal.close()
  await world.close()
  await endLeftOver(world.home)
}
process.exitCode = failed === 0 ? 0 : 1
