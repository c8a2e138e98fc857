/** Calling: what the tool `sub_agent` may not do, `POST /api/calls` and the library do not do for it. */
import { describe, expect, test } from 'vitest'
import type { Who } from '../../src/runtime/desk/asker.ts'
import { openDoors, type Door, type Doors, type Told } from '../kits/doors.ts'
import { asSession, asTurn } from './scene.ts'

const asked = { agent_name: 'target', task: 'help', timeout_seconds: 9 }

/** The doors besides the tool that call. */
function callingDoors(doors: Doors, who: Who): Record<string, Door> {
  const { agent_name: agent, ...rest } = asked
  return {
    [`POST /api/calls, ${who.kind}`]: () => doors.http(who, 'POST', '/api/calls', { agent, ...rest }),
    [`the library, ${who.kind}`]: () => doors.library(doors.as(who).calls.open({ agent, ...rest })),
  }
}

const words = (told: Told): string => (told === 'let through' ? told : told.message)

/** The doors that did not say this, with what they said; and how many calls are on record as refused. */
async function tryAll(doors: Doors, table: Record<string, Door>, said: string): Promise<[string[], number]> {
  const others: string[] = []
  for (const [name, door] of Object.entries(table)) {
    const told = words(await door())
    if (!told.includes(said)) others.push(`${name}: ${told}`)
  }
  const listed = await doors.as({ kind: 'user' }).calls.list({ limit: 200 })
  const refused = 'calls' in listed ? listed.calls.filter(({ outcome }) => outcome === 'refused').length : -1
  return [others, refused]
}

async function tryActor(doors: Doors, agent: string, said: string): Promise<void> {
  const actor = await (agent === 'program' ? doors.beginHosted() : doors.begin(agent))
  const table = {
    ...doors.toolDoors(actor, 'sub_agent', asked),
    ...callingDoors(doors, asSession(actor.session)),
    ...callingDoors(doors, asTurn(actor)),
  }
  expect(await tryAll(doors, table, said)).toEqual([[], Object.keys(table).length])
}

describe('a parameter that the configuration fixes', () => {
  const settings = '[tools.locked.sub_agent]\ntimeout_seconds = 5\n'
  const said = 'because the configuration fixes it'

  test.each(['free', 'program'])('is fixed at every door for a turn of %s', async (agent) => {
    await tryActor(await openDoors({ settings }), agent, said)
  })

  test('is fixed at every door for a client outside, and holds where it is not given', async () => {
    const doors = await openDoors({ settings })
    const who = asSession(await doors.open('external'))
    const table = {
      ...doors.restingToolDoors(who.kind === 'session' ? who.session : 'ses_', 'sub_agent', asked),
      ...callingDoors(doors, who),
    }
    expect(await tryAll(doors, table, said)).toEqual([[], Object.keys(table).length])
    const called = await doors.ask(who, 'POST', '/api/calls', { agent: 'target', task: 'help' })
    const { requested } = (await doors.ask(who, 'GET', `/api/calls/${called.body.call_id as string}`)).body
    expect(requested).toMatchObject({ timeoutMs: 5000 })
  })
})

test('a tool that is not enabled is refused at every door, and every refused call is on record', async () => {
  const doors = await openDoors({ settings: '[tools]\nenable = ["read"]\n' })
  const session = await doors.open('external')
  const table = {
    ...doors.restingToolDoors(session, 'sub_agent', asked),
    ...callingDoors(doors, asSession(session)),
  }
  expect(await tryAll(doors, table, 'it is not enabled in the configuration')).toEqual([
    [],
    Object.keys(table).length,
  ])
})

test('what is outside of the tools of an agent is refused at every door', async () => {
  const agents = { free: { allowSubAgentCalls: true, tools: ['read'] } }
  await tryActor(await openDoors({ agents }), 'free', 'it is outside what this call was allowed')
})

test('where nobody can be asked, what a person must be asked about is refused at every door', async () => {
  const agents = { free: { allowSubAgentCalls: true, ask: ['sub_agent'] } }
  await tryActor(await openDoors({ agents }), 'free', 'a person must be asked first')
})
