/**
 * The OpenCode plugin in a real opencode with a scripted model: our tools, messages as prompts, mail, forks,
 * drafts, cancellation and tracing. The plugin starts the server. Once opencode is installed, only loopback
 * is used.
 */
import assert from 'node:assert/strict'
import { tielineClient, type TielineClient } from '../src/client/client.ts'
import type { Event } from '../src/model/event.ts'
import { fakeModel } from '../test/kits/fake-model.ts'
import {
  secret,
  toServerId,
  useTool,
  waitFor,
  waitForSession,
  type Check,
  type World,
} from './opencode-kit.ts'
import { mailChecks } from './opencode-mail-checks.ts'
import { startOpencode, version } from './opencode-process.ts'
import { sessionChecks } from './opencode-session-checks.ts'

/** It kills the server, so it comes last. */
const restartCheck: Check = {
  name: 'where the server has died, the next use of a tool starts another, which knows everything',
  async run(world) {
    const session = await world.opencode.create('survivor')
    await waitForSession(world.client, session)
    const before = world.opencode.server()
    process.kill(before?.pid ?? 0, 'SIGKILL')
    const { sessions } = await useTool<{ sessions: { id: string }[] }>(world, session, 'list-session', {})
    assert.ok(sessions.some(({ id }) => id === toServerId(session)))
    assert.notEqual(world.opencode.server()?.pid, before?.pid)
    return 'found again'
  },
}

const checks: readonly Check[] = [...sessionChecks, ...mailChecks, restartCheck]

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
    // The first request loads the plugin.
    await opencode.list()
    const { url } = await waitFor('a server', async () => opencode.server())
    const world: World = { fake, opencode, client: tielineClient({ url }), events: [] }
    void follow(world.client, world.events, over.signal).catch((error: unknown) => console.error(error))
    failed = 0
    for (const { name, run } of chosen) {
      try {
        console.log(`ok   opencode ${version}: ${name}: ${await run(world)}`)
      } catch (error) {
        failed += 1
        const why = error instanceof Error ? (error.stack ?? error.message) : String(error)
        console.log(`FAIL opencode ${version}: ${name}: ${why}`)
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
