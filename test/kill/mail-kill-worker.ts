/**
 * The server that `mail-kill.test.ts` ends with SIGKILL, again and again: sessions of clients, and an agent
 * that answers at once.
 */
import { openServer } from '../../src/open-server.ts'

const [directory = '', config = ''] = process.argv.slice(2)

const served = await openServer({
  port: 0,
  dataDir: directory,
  config,
  cwd: directory,
  limitsOfHttp: { requestsPerMinute: 100_000_000 },
  onWarning: (text) => console.error(text),
  agents: { echo: { script: ({ task }) => `echo: ${task}` } },
})
console.log(served.url)
