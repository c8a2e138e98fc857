/** `npm run docs`: writes docs/tools.md and docs/http.md. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tielineClient } from '../src/client/client.ts'
import { artifactKindsDefault } from '../src/model/final-answer.ts'
import { openServer } from '../src/open-server.ts'
import { listForClients } from '../src/runtime/desk/client-tools.ts'
import { doorTools, standardTools } from '../src/tools/standard.ts'
import { renderHttp, renderTools, type OpenApi } from './reference.ts'

/** Both pages, as the present code describes itself. */
export async function makeReferences(): Promise<Record<'tools.md' | 'http.md', string>> {
  const cwd = mkdtempSync(join(tmpdir(), 'tieline-docs-'))
  const server = await openServer({
    dataDir: join(cwd, 'data'),
    cwd,
    port: 0,
    // Clients have this tool only where an agent is configured for it.
    subagent: 'demo',
    onWarning: () => undefined,
  })
  try {
    const described = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApi
    const tools = await tielineClient({ url: server.url }).tools.list()
    const own = standardTools(() => 0, artifactKindsDefault).filter(({ name }) => !doorTools.includes(name))
    return {
      'tools.md': `${renderTools(tools, listForClients(own, null)).trimEnd()}\n`,
      'http.md': `${renderHttp(described).trimEnd()}\n`,
    }
  } finally {
    await server.close()
    rmSync(cwd, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = fileURLToPath(new URL('../docs/', import.meta.url))
  for (const [name, text] of Object.entries(await makeReferences())) writeFileSync(join(folder, name), text)
}
