/** `tieline demo`: a real delegation without any key or network. */
import type { Command } from '../command.ts'

const ownPlace = 'the demo has a server, a configuration and a directory of its own'

export const demo: Command = {
  name: 'demo',
  words: [],
  help: 'Shows a planner, a coder and a reviewer at work, offline, in a scratch directory',
  flags: {},
  without: { config: ownPlace, 'data-dir': ownPlace, server: ownPlace },
  more: `
Only the models are scripted. On a terminal the server stays up afterwards, so that you can look around;
Ctrl-C ends it. Without a terminal the demo ends when the work is done.`,
  examples: ['tieline demo', 'tieline demo --json | jq .overheadPercent'],
  run: async (input) => (await import('../demo/work.ts')).runDemo(input),
}
