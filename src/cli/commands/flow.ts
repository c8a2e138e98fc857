import type { Flow } from '../../wire/log.ts'
import type { TielineClient } from '../../client/client.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { printJson, UsageError, wantsColour, type Command, type CommandInput } from '../command.ts'

const widthUsually = 100

export const flow: Command = {
  name: 'flow',
  words: ['<id>'],
  help: 'Shows everything that one request caused as a tree, with tokens and time; a call or a session too',
  flags: {},
  more: [
    'Examples:',
    '  tieline calls                which flows there are',
    '  tieline flow flow_01abc      one of them',
    '  tieline flow ses_01abc       everything that a session did',
  ],
  async run(input: CommandInput): Promise<number> {
    const id = input.words[0] ?? ''
    const [
      { look },
      { treeOfFlows },
      { collectCalls },
      { treeLines },
      { emptyTree, foldEvent, buildNodes, sumTokens },
    ] = await Promise.all([
      import('../reach/recorded-log.ts'),
      import('../show/flow-tree.ts'),
      import('../show/report.ts'),
      import('../show/tree-lines.ts'),
      import('../show/tree.ts'),
    ])
    const tree = await look(input, {
      server: async (client) => treeOfFlows(await findFlows(client, id), id),
      log: async (log) => (await log.events(id)).reduce(foldEvent, emptyTree),
    })
    if (input.flags['json'] === true) {
      const roots = buildNodes(tree).filter((node) => node.caller === null || !tree.nodes.has(node.caller))
      printJson(input.out, {
        id,
        turns: roots.map((node) => ({
          agent: node.agent,
          task: node.task,
          outcome: node.outcome,
          output: node.output,
          tokensUsed: sumTokens(tree, node),
          durationMs: node.endedAt === null ? null : node.endedAt - node.openedAt,
        })),
        calls: collectCalls(tree),
      })
    } else {
      const lines = treeLines(tree, systemClock.now(), {
        width: input.out.columns ?? widthUsually,
        rows: Number.MAX_SAFE_INTEGER,
        colour: wantsColour(input.out, input.env),
      })
      input.out.write(`${lines.join('\n')}\n`)
    }
    return 0
  },
}

const flowsMax = 100

/**
 * The flows that an id belongs to: a flow's own, a call's one, or those in which a session called somebody.
 */
export async function findFlows(client: TielineClient, id: string): Promise<Flow[]> {
  if (id.startsWith('flow_')) return [await client.flow(id)]
  if (id.startsWith('call_')) {
    const { flow: found, errors } = await client.calls.get(id)
    if (found === null) throw new UsageError(`${id} was refused, so nothing came of it: ${errors[0] ?? ''}`)
    return [await client.flow(found)]
  }
  const { id: session } = await client.sessions.get(id)
  const ids = [
    ...new Set((await client.calls.list({ session, limit: flowsMax })).flatMap((call) => call.flow ?? [])),
  ]
  if (ids.length === 0)
    throw new UsageError(
      `${session} has called nobody, so there is no tree to show. "tieline chat --session ${session}" goes on with it.`,
    )
  return Promise.all(ids.toReversed().map((one) => client.flow(one)))
}
