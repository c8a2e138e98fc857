/** Programs that an agent starts with its `shell`: they act in its turn, or not at all. */
import { expect, test } from 'vitest'
import type { Actor } from '../kits/doors.ts'
import { openDoors } from '../kits/doors.ts'
import { user } from './scene.ts'

type Ran = { stdout: string; stderr: string; exit_code: number }

const agents = {
  free: { allowSubAgentCalls: true, tools: ['shell', 'sub_agent'] },
  mute: { tools: ['shell'] },
}

const runIn =
  (actor: Actor) =>
  async (command: string): Promise<Ran> =>
    (await actor.use('shell', { command })).value as Ran

const call = `curl -sS -d '{"agent":"target","task":"from the shell"}' $TIELINE_SERVER/api/calls`
const withToken = '-H "authorization: Bearer $TIELINE_TOKEN"'

test('a program in a turn calls with the token of the turn: it has the place of the turn in the tree', async () => {
  const doors = await openDoors({ agents })
  const actor = await doors.begin('free')
  const answer = JSON.parse((await runIn(actor)(`${call} ${withToken}`)).stdout)
  expect(answer).toMatchObject({ outcome: 'completed', output: 'heard: from the shell' })
  const record = await doors.as(user).calls.get(answer.call_id)
  expect(record).toMatchObject({ callerSession: actor.session, depth: 1 })
  // What the agent itself may not do, its programs may not either.
  const mute = await doors.begin('mute')
  expect((await runIn(mute)(`${call} ${withToken}`)).stdout).toContain('tool_disabled')
})

test('leaving out the token does not make an agent the user', async () => {
  const doors = await openDoors({ agents })
  const run = runIn(await doors.begin('free'))
  expect((await run(call)).stdout).toContain('not_authenticated')
  for (const path of ['/api/sessions', '/v1/agents', '/api/questions', '/mcp'])
    expect([path, (await run(`curl -sS $TIELINE_SERVER${path}`)).stdout]).toEqual([
      path,
      expect.stringContaining('not_authenticated'),
    ])
  expect((await doors.as(user).calls.list()) as object).toEqual({ calls: [], next: null })
})

test('the token of a turn is dead when the turn is', async () => {
  const doors = await openDoors({ agents })
  const actor = await doors.begin('free')
  const { stdout } = await runIn(actor)('printf %s "$TIELINE_TOKEN" | head -c 4')
  expect(stdout).toBe('tlt_')
  await doors.as(user).sessions.cancel(actor.session)
  await doors.as(user).sessions.wait(actor.session)
  const late = await doors.http({ kind: 'turn', turn: actor.turn }, 'GET', '/api/agents')
  expect(late).toMatchObject({ code: 'call_ended' })
})
