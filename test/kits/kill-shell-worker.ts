/** A server whose agent runs a command that takes long; it is killed meanwhile. Says so when it has begun. */
import { openLine } from '../../src/open-line.ts'

const [, , cwd = '/', command = 'true', sandbox = 'auto'] = process.argv
const line = await openLine({
  cwd,
  agents: {
    busy: {
      tools: ['shell'],
      sandbox: sandbox as 'auto' | 'required' | 'off',
      script: async (turn) => JSON.stringify((await turn.tool('shell', { command })).value),
    },
  },
})
line.run('busy', 'go')
