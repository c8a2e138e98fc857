/** `tieline flow <id>`: everything that one request caused, as a tree. */
import { systemClock } from '../runtime/system-clock.ts'
import { wantsColour, type Command, type CommandInput } from './command.ts'
import { logFlags, printJson, withLog } from './recorded-log.ts'
import { callsOf } from './report.ts'
import { treeLines } from './tree-lines.ts'
import { emptyTree, foldEvent, nodesOf, tokensOf } from './tree.ts'

const widthDefault = 100

export const flow: Command = {
  name: 'flow',
  words: ['<id>'],
  help: 'Shows everything that one request caused as a tree, with tokens and time; a call or a session too',
  flags: logFlags,
  more: ['Example:', '  tieline flow flow_01abc'],
  async run(input: CommandInput): Promise<number> {
    const events = await withLog(input, (log) => log.events(input.words[0] ?? ''))
    const tree = events.reduce(foldEvent, emptyTree)
    if (input.flags['json'] === true) {
      const roots = nodesOf(tree).filter((node) => node.caller === null || !tree.nodes.has(node.caller))
      printJson(input.out, { id: input.words[0], turns: roots.map((node) => ({ agent: node.agent, task: node.task, outcome: node.outcome, output: node.output, tokensUsed: tokensOf(tree, node), durationMs: node.endedAt === null ? null : node.endedAt - node.openedAt })), calls: callsOf(tree) })
    } else {
      const lines = treeLines(tree, systemClock.now(), { width: input.out.columns ?? widthDefault, rows: Number.MAX_SAFE_INTEGER, colour: wantsColour(input.out, input.env) })
      input.out.write(`${lines.join('\n')}\n`)
    }
    return 0
  },
}
