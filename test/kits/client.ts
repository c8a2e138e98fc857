/** A real server with scripted agents, and a client of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import { TielineError } from '../../src/client/tieline-error.ts'
import { openServer, type OpenServer, type OpenServerOptions } from '../../src/open-server.ts'

export function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-client-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export const agents: NonNullable<OpenServerOptions['agents']> = {
  boss: {
    tools: ['sub_agent'],
    allowSubAgentCalls: true,
    script: async (turn) => {
      const { value } = await turn.tool('sub_agent', { agent_name: 'helper', task: `Part of: ${turn.task}` })
      return turn.think(`helper said: ${(value as { output: string }).output}`)
    },
  },
  helper: { description: 'helps', script: async (turn) => turn.think(`done: ${turn.task}`) },
  stuck: { script: () => new Promise(() => undefined) },
  careful: {
    tools: ['shell'],
    ask: ['shell'],
    script: async (turn) =>
      turn.think(JSON.stringify((await turn.tool('shell', { command: 'echo hi' })).value)),
  },
}

export async function started(
  options: OpenServerOptions = {},
): Promise<{ served: OpenServer; client: TielineClient; cwd: string }> {
  const directory = scratch()
  writeFileSync(join(directory, 'empty.json'), '{}')
  const served = await openServer({
    agents,
    config: join(directory, 'empty.json'),
    dataDir: join(directory, 'data'),
    cwd: directory,
    port: 0,
    onWarning: () => undefined,
    ...options,
  })
  onTestFinished(() => served.close())
  return { served, client: tielineClient({ url: served.url, token: served.token }), cwd: directory }
}

export const readRefusal = async (work: Promise<unknown>): Promise<TielineError> => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(TielineError)
  return error as TielineError
}
