/**
 * The server that `http-kill.test.ts` ends with SIGKILL: an agent that answers in two recorded steps, in a
 * data directory that outlives the process. Says on stdout where it listens.
 */
import { openServer } from '../../src/open-server.ts'

const [dataDir = '', cwd = ''] = process.argv.slice(2)

const served = await openServer({
  dataDir,
  cwd,
  port: 0,
  host: '127.0.0.1',
  limitsOfHttp: { requestsPerMinute: 1e9 },
  log: (level, message, fields) => (level === 'error' ? console.error(message, fields) : undefined),
  agents: {
    clerk: { script: async (turn) => `${await turn.think('It is being filed.')} Filed: ${turn.task}` },
  },
})
console.log(served.url)
