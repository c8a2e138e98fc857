/** A real server, and programs that connect to it and run sessions. */
import { readAll } from '../../src/runtime/kernel/scope.ts'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { ScriptedTurn } from '../../src/adapters/scripted/run-function.ts'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import type { HostAsk, HostConnection } from '../../src/client/host.ts'
import type { Event } from '../../src/model/event.ts'
import { openServer, type OpenServer } from '../../src/open-server.ts'

export const open: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

export let goOn = (): void => undefined

export const agents = {
  patient: {
    tools: ['call_agent'],
    allowSubAgentCalls: true,
    script: async (turn: ScriptedTurn) => {
      if (turn.task === 'hang')
        await new Promise((_, reject) =>
          turn.signal.addEventListener('abort', () => reject(turn.signal.reason)),
        )
      if (turn.task !== 'go') return 'patient'
      await new Promise<void>((resolve) => (goOn = resolve))
      return JSON.stringify(
        (await turn.tool('call_agent', { agent_id: 'ses_mine-one', message: 'and you?' })).value,
      )
    },
  },
  helper: { description: 'helps', script: [{ say: 'helped' }] },
  returner: {
    tools: ['call_agent'],
    allowSubAgentCalls: true,
    script: [
      {
        when: { iteration: 1 },
        tools: [{ name: 'call_agent', input: { agent_id: 'ses_mine-one', message: 'and you?' } }],
      },
      { say: '{{result.error}}' },
    ],
  },
}

export async function server(): Promise<{ served: OpenServer; client: TielineClient; dataDir: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-host-'))
  const served = await openServer({ dataDir, port: 0, agents })
  open.push(() => served.close())
  return { served, client: tielineClient({ url: served.url }), dataDir }
}

export async function program(client: TielineClient, ask: Partial<HostAsk> = {}): Promise<HostConnection> {
  const host = client.host({
    agent: 'mine',
    tools: [
      'sub_agent',
      'wait_for_call',
      'read_output',
      'send-message',
      'send_agent_message',
      'list-session',
      'buffer',
    ],
    sessions: [
      { id: 'one', cwd: tmpdir() },
      { id: 'two', cwd: tmpdir() },
    ],
    run: async (turn) => `${turn.id} heard ${turn.task}`,
    ...ask,
  })
  open.push(() => host.close())
  await host.ready
  return host
}

export const as = (host: HostConnection, id: string): TielineClient => {
  const taken = host.taken(id)
  if (taken === null) throw new Error(`${id} is not known`)
  return taken.client
}

export async function readEvents({ served }: { served: OpenServer }): Promise<Event[]> {
  return (await readAll(served.line.store, 0, {})).map(({ event }) => event)
}
