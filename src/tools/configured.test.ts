/** What the configuration says about tools, for every tool alike. */
import { exchangeOf } from '../../test/kits/askers.ts'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Json } from '../model/json.ts'
import { openLine, type OpenLineOptions } from '../open-line.ts'
import { isRefusal } from '../model/refusal.ts'

const user = { kind: 'user' } as const
const use = { signal: new AbortController().signal, id: null, trace: null }

async function configured(tools: object, more: Partial<OpenLineOptions> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-tools-'))
  const config = join(directory, 'tieline.json')
  writeFileSync(config, JSON.stringify({ server: { dataDir: './data' }, tools }))
  const line = await openLine({ config, dataDir: ':memory:', onWarning: () => undefined, ...more })
  onTestFinished(async () => {
    await line.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const client = await exchangeOf(line.desks).clientSession('test', directory)
  const who = { kind: 'session', session: client } as const
  const specs = await exchangeOf(line.desks).toolsFor(who)
  return {
    line,
    directory,
    client,
    spec: (name: string) =>
      (isRefusal(specs) ? undefined : specs.find((tool) => tool.name === name)) as
        | { input: { properties: Record<string, Json>; required?: string[] } }
        | undefined,
    use: async (name: string, input: Json) => {
      const answer = await exchangeOf(line.desks).useTool(who, name, input, use)
      return 'value' in answer ? (answer.value as Record<string, Json>) : answer
    },
  }
}

test('a locked parameter is not shown and cannot be set; it holds whatever is asked for', async () => {
  const {
    line,
    spec,
    use: useTool,
    directory,
  } = await configured(
    { locked: { 'list-session': { dir: '.' } } },
    { agents: { coder: { script: () => 'ok' } } },
  )
  await exchangeOf(line.desks).createSession(user, {
    cwd: '/',
    agent: 'coder',
    model: null,
    title: '',
    parent: null,
    initialMessage: null,
    id: null,
    trace: null,
  })
  expect(Object.keys(spec('list-session')?.input.properties ?? {})).toEqual(['active'])
  expect(
    ((await useTool('list-session', {})) as { sessions: { cwd: string }[] }).sessions.map(({ cwd }) => cwd),
  ).toEqual([directory])
  expect(await useTool('list-session', { dir: '/' })).toMatchObject({
    sessions: [],
    error: {
      code: 'bad_input',
      message: expect.stringMatching(/^dir: .*the configuration fixes it/) as string,
    },
  })
})

test('a default holds where nothing is given, is shown, and need not be given', async () => {
  const {
    line,
    spec,
    use: useTool,
  } = await configured(
    { defaults: { 'send-message': { draft: true, message: 'hello' } } },
    { agents: { coder: { script: () => 'ok' } } },
  )
  expect(spec('send-message')?.input.properties['draft']).toMatchObject({ default: true })
  expect(spec('send-message')?.input.required).toEqual([])
  expect(await useTool('send-message', {})).toMatchObject({ status: 'draft' })
  const made = await exchangeOf(line.desks).createSession(user, {
    cwd: '/',
    agent: 'coder',
    model: null,
    title: '',
    parent: null,
    initialMessage: null,
    id: 'there',
    trace: null,
  })
  expect(made).toMatchObject({ sessionId: 'ses_there' })
  expect(await useTool('send-message', { message: 'now', draft: false, session: 'there' })).toMatchObject({
    status: 'buffered',
  })
})

test('a tool that is not enabled is not shown, and says so in its own shape', async () => {
  const seen: Record<string, unknown>[] = []
  const {
    line,
    spec,
    use: useTool,
  } = await configured(
    { enable: ['send*', 'call_agent', 'read'] },
    {
      agents: {
        coder: {
          tools: ['*'],
          allowSubAgentCalls: true,
          script: async (turn) => {
            seen.push(
              { shown: turn.tools.map(({ name }) => name) },
              (await turn.tool('buffer', {})).value as Record<string, unknown>,
              (await turn.tool('sub_agent', { agent_name: 'coder', task: 'x' })).value as Record<
                string,
                unknown
              >,
            )
            return 'ok'
          },
        },
      },
    },
  )
  expect([spec('buffer'), spec('send-message') === undefined, spec('sub_agent')]).toEqual([
    undefined,
    false,
    undefined,
  ])
  expect(await useTool('buffer', {})).toMatchObject({
    messages: [],
    error: { code: 'tool_disabled', message: expect.stringContaining('not enabled') as string },
  })
  const refused = { error: { code: 'tool_disabled' }, call_id: 'call_1' }
  expect(await useTool('wait_for_call', { call_id: 'call_1' })).toMatchObject({ ...refused, partial: '' })
  expect(await useTool('read_output', { call_id: 'call_1' })).toMatchObject({
    ...refused,
    text: '',
    total: 0,
  })
  await line.run('coder', 'go')
  expect(seen[0]?.['shown']).toEqual(expect.not.arrayContaining(['buffer', 'list', 'sub_agent']))
  expect(seen[1]).toMatchObject({ error: { code: 'tool_disabled' } })
  expect(seen[2]).toMatchObject({
    success: false,
    outcome: 'refused',
    errors: [expect.stringContaining('not enabled') as string],
  })
})

test('it holds for tools of one’s own, and for those that work in a directory', async () => {
  const own = {
    name: 'shout',
    effect: 'read' as const,
    calling: false,
    describe: () => ({
      name: 'shout',
      description: '',
      input: {
        type: 'object',
        properties: { text: { type: 'string' }, loud: { type: 'boolean' } },
        required: ['text', 'loud'],
      },
    }),
    run: async (input: Json) => ({ ok: true, value: input }),
  }
  const seen: unknown[] = []
  const { line } = await configured(
    { locked: { shout: { loud: true }, list: { path: '.' } } },
    {
      tools: [own],
      agents: {
        coder: {
          tools: ['*'],
          script: async (turn) => {
            seen.push(
              turn.tools.find(({ name }) => name === 'shout')?.input,
              (await turn.tool('shout', { text: 'hi' })).value,
              (await turn.tool('shout', { text: 'hi', loud: false })).value,
              (await turn.tool('list', { path: '/' })).value,
            )
            return 'ok'
          },
        },
      },
    },
  )
  await line.run('coder', 'go')
  expect(seen[0]).toEqual({ type: 'object', properties: { text: { type: 'string' } }, required: ['text'] })
  expect(seen[1]).toEqual({ text: 'hi', loud: true })
  expect(seen[2]).toMatchObject({ error: { code: 'bad_input' } })
  expect(seen[3]).toMatchObject({ error: { code: 'bad_input' } })
})

test.each([
  [
    { defaults: { 'send-mesage': { draft: true } } },
    /tools\.defaults\.send-mesage: there is no tool "send-mesage"; the nearest known one is "send-message"/,
  ],
  [
    { locked: { 'list-session': { directory: '.' } } },
    /tools\.locked\.list-session\.directory: unknown key; .*"?dir/,
  ],
  [
    { defaults: { 'send-message': { draft: 'yes' } } },
    /tools\.defaults\.send-message\.draft: "yes" was given, but true or false is needed\./,
  ],
  [
    { locked: { sub_agent: { timeout_seconds: 'long' }, call_agent: { timeout_ms: '1' } } },
    /timeout_seconds: "long" was given, but a number is needed\.\ntools\.locked\.call_agent\.timeout_ms/,
  ],
  [
    { enable: ['sub_agnet', 'send*', 'bufer'] },
    /enable\[0\]: there is no tool "sub_agnet"; the nearest known one is "sub_agent"\.\ntools\.enable\[2\]/,
  ],
])('wrong values and typos in the settings of tools are errors: %j', async (tools, message) => {
  await expect(configured(tools)).rejects.toThrow(message)
})
