import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openServer } from '../../src/open-server.ts'
import { noSandbox } from '../kits/sandbox.ts'

const script = join(import.meta.dirname, '../mcp/server.ts')

test.skipIf(noSandbox)(
  'an MCP server runs in a sandbox, with the token of the turn that starts it',
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tieline-mcp-'))
    const served = await openServer({
      dataDir,
      port: 0,
      cwd: dataDir,
      agents: {
        asker: {
          tools: ['srv_*'],
          sandbox: 'required',
          mcpServers: {
            srv: { command: process.execPath, args: [script], env: { NOTES: '/tmp/notes' }, repeatable: [] },
          },
          script: async (turn) => {
            const env = JSON.parse(String((await turn.tool('srv_env', {})).value)) as Record<string, string>
            const pid = Number((await turn.tool('srv_pid', {})).value)
            // The first processes of a namespace of its own.
            return [env['TIELINE_TOKEN']?.slice(0, 4), env['TIELINE_SERVER'], pid < 10, env['NOTES']].join(
              ' ',
            )
          },
        },
      },
    })
    onTestFinished(() => served.close())
    expect(await served.line.run('asker', 'go')).toMatchObject({
      outcome: 'completed',
      output: `tlt_ ${served.url} true /tmp/notes`,
    })
  },
)
