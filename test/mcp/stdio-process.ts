/** `tieline mcp` without the search for a server: the address comes from a file that the test may change. */
import { readFileSync } from 'node:fs'
import { serveMcpStdio } from '../../src/adapters/mcp/serve-stdio.ts'
import { surroundings } from '../../src/client/surroundings.ts'

const [, , file = ''] = process.argv

const find = async (): Promise<{ url: string; token: string }> => ({
  url: readFileSync(file, 'utf8').trim(),
  token: 'a-token',
})

await serveMcpStdio({
  running: find,
  tools: async () => [],
  server: async () => {
    console.error('looking for a server')
    return find()
  },
  version: '1.2.3',
  cwd: process.cwd(),
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  signal: new AbortController().signal,
  surroundings,
  report: (text) => console.error(text),
})
console.error('over')
