/**
 * Refusals as the rules make them, tool by tool, over a real connection: each says what is wrong, and satisfies the
 * schema that its tool was listed with. `refusal-schemas.test.ts` has every code without a rule behind it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { onTestFinished, expect, test } from 'vitest'
import { callTool, fieldsIn, mcpWorld, revisions } from '../../../test/kits/mcp.ts'
import type { OpenLineOptions } from '../../open-line.ts'
import { outputSchemas } from './server-tools.ts'

const ajv = new Ajv({ strict: false, allErrors: true })
const echo = { script: ({ task }: { task: string }) => `echo: ${task}` }

/** What is said: the code, or in a tool whose answer has none the words. */
type Ask = [tool: string, input: Record<string, unknown>, said: string]

async function refuseAll(asks: readonly Ask[], options: OpenLineOptions = {}): Promise<void> {
  for (const revision of revisions) {
    const w = await mcpWorld({ subagent: 'echo', ...options, agents: { echo, ...options.agents } })
    onTestFinished(() => w.close())
    const client = await w.connect(revision)
    // A client that knows the schemas checks each answer itself, and shows nothing of one that fails.
    await client.listTools()
    const said = []
    for (const [tool, input] of asks) {
      const fields = fieldsIn(await callTool(client, tool, input))
      const validate = ajv.compile(outputSchemas()[tool as keyof ReturnType<typeof outputSchemas>] as object)
      expect([tool, validate(fields), ajv.errorsText(validate.errors)]).toEqual([tool, true, 'No errors'])
      const text = JSON.stringify(fields)
      said.push([tool, input, asks.find((ask) => ask[1] === input && text.includes(ask[2]))?.[2] ?? text])
    }
    expect(said).toEqual(asks)
  }
}

test('a client showed only "Structured content does not match" for what does not exist', () =>
  refuseAll([
    ['sub_agent', { agent_name: 'ecko', task: 'x' }, 'There is no agent'],
    ['subagent', { task: 'x', files: ['../../outside'] }, 'outside'],
    ['call_agent', { agent_id: 'nobody', message: 'x' }, 'There is no agent'],
    ['wait_for_call', { call_id: 'call_none' }, 'call_unknown'],
    ['read_output', { call_id: 'call_none' }, 'call_unknown'],
    ['steer_call', { call_id: 'call_none', message: 'x' }, 'call_unknown'],
    ['send_agent_message', { sessionId: 'ses_none', message: 'x' }, 'session_unknown'],
    ['get_session_state', { sessionId: 'ses_none' }, 'session_unknown'],
    ['wait_for_session', { sessionId: 'ses_none' }, 'session_unknown'],
    ['create_agent_session', { cwd: '/does/not/exist' }, 'bad_input'],
    ['create_agent_session', { cwd: '/', agent: 'nobody' }, 'agent_unknown'],
    ['send-message', { session: 'ses_none', message: 'x' }, 'session_unknown'],
    ['send-message', { message: 'x', reply: ['none'] }, 'message_unknown'],
    ['send-message', { message: 'x', id: 'none', iterate: true }, 'message_unknown'],
    ['buffer', { accept: 'none' }, 'message_unknown'],
    ['buffer', { session: 'ses_none' }, 'session_unknown'],
    ['list-session', { dir: 7 }, 'bad_input'],
    ['list_agents', { query: 7 }, 'bad_input'],
    ['wait_for_mail', { timeout_seconds: 'soon' }, 'bad_input'],
  ]))

test('a client showed only "Structured content does not match" for what is too much', async () => {
  const calls = (said: string): Ask[] => [
    ['sub_agent', { agent_name: 'echo', task: 'a long enough task' }, said],
    ['sub_agent', { agent_name: 'echo', task: 'a long enough task', background: true }, said],
  ]
  const call: Ask = ['call_agent', { agent_id: 'echo', message: 'a long enough task' }, 'at most 10']
  await refuseAll(
    [
      ...calls('at most 10'),
      call,
      ['send-message', { session: 'new', message: 'a long enough task' }, 'too_large'],
    ],
    { limits: { taskBytesMax: 10 } },
  )
  await refuseAll(calls('open').slice(0, 1), { limits: { callsPerCallerMax: 0 } })
  await refuseAll(calls('created'), { limits: { descendantsPerFlowMax: 0 } })
  await refuseAll(calls('a minute'), { limits: { callsPerMinute: 0 } })
  await refuseAll(calls('tokens'), { limits: { flowTokensMax: 0 } })
  await refuseAll(calls('deep'), { limits: { depthMax: 0 } })
  await refuseAll([
    ['sub_agent', { agent_name: 'echo', task: 'x', max_context_tokens: 0 }, 'max_context_tokens'],
    ['sub_agent', { agent_name: 'echo', task: 'x', output_schema: { type: 'object' } }, 'schema'],
  ])
})

test('a client showed only "Structured content does not match" for a tool that is turned off', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-refusals-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const config = join(directory, 'tieline.json')
  writeFileSync(config, JSON.stringify({ server: { dataDir: ':memory:' }, tools: { enable: [] } }))
  await refuseAll(
    Object.keys(outputSchemas()).map((tool): Ask => [tool, {}, 'not enabled in the configuration']),
    { config, dataDir: ':memory:' },
  )
})
