/** What models read of the tools that concern agents and sessions. */
import { expect, test } from 'vitest'
import { world } from '../../test/kits/world.ts'
import { isRecord } from '../model/json.ts'
import { toolAnswers } from '../wire/tools.ts'

const fields = (schema: unknown, path = ''): { path: string; described: boolean }[] => {
  const properties = isRecord(schema) && isRecord(schema['properties']) ? schema['properties'] : {}
  return Object.entries(properties).flatMap(([name, field]) => [
    { path: `${path}${name}`, described: isRecord(field) && typeof field['description'] === 'string' },
    ...fields(field, `${path}${name}.`),
  ])
}

test('parameters of tools were not described', async () => {
  const shown: { name: string; input: unknown }[] = []
  const w = await world({
    agents: { boss: { script: (turn) => (shown.push(...turn.tools), 'done') }, child: {} },
  })
  await w.run('boss', 'go')
  const actor = await w.desks.as({ client: { name: 'test', cwd: '/tmp' } }).tools.actor()
  const listed = await w.desks.as({ who: actor as never }).tools.list()
  const { tools } = listed as { tools: typeof shown }
  expect([shown.length, tools.length].every((count) => count > 8)).toBe(true)
  const ours = [...shown, ...tools].filter(({ name }) => Object.hasOwn(toolAnswers, name))
  const bare = ours.flatMap(({ name, input }) =>
    fields(input).flatMap(({ path, described }) => (described ? [] : [`${name}: ${path}`])),
  )
  expect(bare).toEqual([])
})

test('list_agents names those that may be called, with how they are', async () => {
  let listed: unknown
  const w = await world({
    agents: {
      boss: {
        tools: ['list_agents'],
        mayCall: ['coder', 'away'],
        script: async (turn) => {
          listed = [
            (await turn.tool('list_agents', {})).value,
            (await turn.tool('list_agents', { query: 'CODE' })).value,
          ]
          return 'done'
        },
      },
      coder: { description: 'Writes code' },
      away: { description: 'Looks around' },
      secret: {},
    },
  })
  await w.run('boss', 'go')
  const coder = {
    name: 'coder',
    description: 'Writes code',
    driver: 'scripted',
    status: 'ready',
    reason: null,
    metered: true,
    project: null,
  }
  expect(listed).toEqual([
    { agents: [{ ...coder, name: 'away', description: 'Looks around' }, coder], error: null },
    { agents: [coder], error: null },
  ])
})

test('over a door last_messages and include_summary did nothing, silently', async () => {
  const w = await world({ agents: { child: {} } })
  const desk = w.desks.as({ client: { name: 'test', cwd: '/tmp' } })
  const actor = await desk.tools.actor()
  const listed = await w.desks.as({ who: actor as never }).tools.list()
  const { tools } = listed as { tools: { name: string; input: unknown }[] }
  const offered = fields(tools.find(({ name }) => name === 'sub_agent')?.input).map(({ path }) => path)
  expect(offered.filter((path) => path.startsWith('context.'))).toEqual([
    'context.include_workspace',
    'context.workspace_files',
  ])
  const refused = desk.calls.open({ agent: 'child', task: 'part', context: { last_messages: 3 } })
  expect(await w.until(refused)).toMatchObject({ code: 'bad_input', field: 'context.last_messages' })
  const harmless = desk.calls.open({ agent: 'child', task: 'part', context: { include_summary: false } })
  expect(await w.until(harmless)).toMatchObject({ success: true })
})

test('call_agent to the session of a client said that there is no such agent', async () => {
  let value: unknown
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          const sessions = (await turn.tool('list-session', { dir: '/tmp' })).value as {
            sessions: { id: string }[]
          }
          const [client] = sessions.sessions
          value = (await turn.tool('call_agent', { agent_id: client?.id ?? '', message: 'hello' })).value
          return 'done'
        },
      },
    },
  })
  await w.desks.as({ client: { name: 'test', cwd: '/tmp' } }).tools.actor()
  await w.run('boss', 'go')
  expect(value).toMatchObject({
    outcome: 'refused',
    error: expect.stringContaining('write to it instead') as string,
  })
})
