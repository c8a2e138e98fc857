/** A program that uses every entry point of the package. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ServerUnreachable,
  tielineClient,
  TielineError,
  type Session,
  type TielineClient,
} from 'tieline/client'
import plugin, { tielinePlugin, type TielinePluginOptions } from 'tieline/opencode'
import { serve, ServeError, type LogSink, type Served } from 'tieline/server'
import { echo, isHidden, listKeys, meetRefusals, openLine, useLine } from './library.ts'

export async function useServer(served: Served): Promise<Session[]> {
  const client: TielineClient = tielineClient({ url: served.url, token: served.token })
  assert.equal((await client.calls.open({ agent: 'parrot', task: 'over HTTP' })).output, 'heard: over HTTP')
  await assert.rejects(client.calls.get('call_none'), (error) => {
    assert.ok(error instanceof TielineError)
    return error.code === 'call_unknown'
  })
  return (await client.sessions.list()).sessions
}

export const options: TielinePluginOptions = { agent: 'opencode', tracing: false }
assert.equal(plugin.server, tielinePlugin)

assert.ok(isHidden)

await using line = await openLine()
const record = await useLine(line)
await meetRefusals(line)

const dataDir = await mkdtemp(join(tmpdir(), 'tieline-program-'))
const logged: string[] = []
const log: LogSink = (_level, message) => logged.push(message)
const served = await serve({ dataDir, port: 0, agents: { parrot: { driver: echo } }, log })
assert.ok((await useServer(served)).length > 0)
assert.deepEqual(listKeys(served.line), listKeys(line))
await served.close()
await assert.rejects(tielineClient({ url: served.url }).health(), ServerUnreachable)
const config = join(dataDir, 'tieline.json')
await writeFile(config, JSON.stringify({ server: { auth: 'off' } }))
await assert.rejects(serve({ dataDir, config, host: '0.0.0.0' }), ServeError)
await rm(dataDir, { recursive: true })
console.log(JSON.stringify({ record: record.output, line: listKeys(line) }))
