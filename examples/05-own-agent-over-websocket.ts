/**
 * Your own program as an agent: it connects to the server, registers its sessions and receives their turns.
 * Other agents call it like any other agent.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tielineClient } from '../src/client/index.ts'
import { serve } from '../src/server/index.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'tieline-example-'))
const server = await serve({
  dataDir,
  port: 0,
  agents: {
    planner: {
      tools: ['call_agent'],
      allowSubAgentCalls: true,
      script: [
        {
          when: { iteration: 1 },
          tools: [{ name: 'call_agent', input: { agent_id: 'ses_counter-desk', message: 'one two three' } }],
        },
        { say: 'The program said: {{result.response}}' },
      ],
    },
  },
})

// This part could run in another process, in any language with WebSockets.
const client = tielineClient({ url: server.url })
const host = client.host({
  agent: 'counter',
  description: 'counts words',
  sessions: [{ id: 'desk', cwd: tmpdir(), title: 'The desk of the counter' }],
  async run(turn) {
    turn.say('counting… ')
    return `${turn.task.split(' ').length} words`
  },
})
await host.ready

// A person writes to its session; an agent calls it.
await client.sessions.send('ses_counter-desk', { message: 'how many words are these' })
assert.equal((await client.sessions.wait('ses_counter-desk')).lastMessage?.content, '5 words')
const planned = await server.line.run('planner', 'Ask the counter.')
assert.equal(planned.output, 'The program said: 3 words')

// While the program is away, messages wait for it.
host.close()
while ((await client.sessions.send('ses_counter-desk', { message: 'are you there' })).status !== 'queued');
const again = client.host({
  agent: 'counter',
  sessions: [{ id: 'desk', cwd: tmpdir() }],
  run: async (turn) => `back: ${turn.task}`,
})
assert.equal((await client.sessions.wait('ses_counter-desk')).lastMessage?.content, 'back: are you there')

again.close()
await server.close()
await rm(dataDir, { recursive: true })
console.log(planned.output)
