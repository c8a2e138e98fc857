import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tielineClient } from '../../src/client/index.ts'
import { openServer } from '../../src/open-server.ts'

const settings = `
[providers.acme]
kind = "openai-compatible"
baseURL = "http://127.0.0.1:1/v1"
apiKeyEnv = "ACME_KEY_THAT_NOBODY_HAS"

[agents.writer]
model = "acme/one"

[agents.other]
model = "nowhere/one"
`

test('a key variable that the background server does not have is named in agent_unavailable', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-key-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const config = join(dataDir, 'tieline.toml')
  writeFileSync(config, settings)
  const served = await openServer({
    config,
    dataDir,
    port: 0,
    cwd: dataDir,
    onWarning: () => undefined,
  })
  onTestFinished(() => served.close())
  const client = tielineClient({ url: served.url })
  await expect(client.calls.open({ agent: 'writer', task: 'go' })).rejects.toMatchObject({
    code: 'agent_unavailable',
    message:
      'writer cannot be called now: the server does not have the variable ACME_KEY_THAT_NOBODY_HAS, the key of its ' +
      'provider "acme". Go on without it or call another agent, and tell the user: set ACME_KEY_THAT_NOBODY_HAS, ' +
      'end the server with "tieline stop", and start it from that shell.',
  })
  await expect(client.calls.open({ agent: 'other', task: 'go' })).rejects.toMatchObject({
    code: 'agent_unavailable',
    message: expect.stringContaining('its provider "nowhere" is not configured') as unknown,
  })
  const { value } = await client.tools.use('list_agents', {})
  expect(value).toMatchObject({
    agents: expect.arrayContaining([
      expect.objectContaining({
        name: 'writer',
        status: 'unavailable',
        reason: expect.stringContaining('ACME_KEY_THAT_NOBODY_HAS') as unknown,
      }),
    ]) as unknown,
  })
})
