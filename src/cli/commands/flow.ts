import { sumMoney } from '../show/cost.ts'
import type { Flow } from '../../wire/log.ts'
import type { TielineClient } from '../../client/client.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { printResult, UsageError, wantsColour, type Command, type CommandInput } from '../command.ts'
import { isFailure } from '../../model/request-name.ts'
import { findId } from '../reach/find-id.ts'
import { readRecorded } from '../reach/recorded-log.ts'
import { buildTree, nameClients } from '../show/flow-tree.ts'
import { collectCalls } from '../show/report.ts'
import { renderTree } from '../show/tree-lines.ts'
import { emptyTree, foldEvent, listRoots, sumTokens, withoutClients, type Tree } from '../show/tree.ts'
import { toUsd } from '../../model/money.ts'

const widthDefault = 100

export const flow: Command = {
  name: 'flow',
  words: ['<id>'],
  help: 'Shows everything that a request, a call or a session caused as a tree, with tokens and time',
  flags: { output: { help: 'prints only what it has answered' } },
  examples: [
    'tieline flows                which there are',
    'tieline flow last            the newest',
    'tieline flow 731942          one of them, by the end of its id',
    'tieline flow ses_01abc       everything that a session did',
    'tieline flow last --output   the answer, such as that of a call in the background',
  ],
  async run(input: CommandInput): Promise<number> {
    const { out, env } = input
    const id = input.words[0] ?? ''
    const { tree, shown } = await readRecorded(input, {
      async server(client) {
        const whole = await findId(client, id, input.signal)
        const found = await findFlows(client, whole)
        // Whoever looks at it on a terminal has seen how it ended.
        if (out.isTTY === true)
          for (const one of found)
            if (isFailure(one.root.outcome)) await client.seeFlow(one.flow, { signal: input.signal })
        const built = buildTree(found, whole)
        return { tree: showCalled(built), shown: nameClients(built, found) }
      },
      async log(log) {
        const called = showCalled((await log.events(id)).reduce(foldEvent, emptyTree))
        return { tree: called, shown: called }
      },
    })
    const turns = listRoots(tree).map((node) => ({
      agent: node.agent,
      task: node.task,
      outcome: node.outcome,
      output: node.output,
      tokensUsed: sumTokens(tree, node),
      costUsd: sumMoney(tree, node) === 0 ? null : toUsd(sumMoney(tree, node)),
      durationMs: node.endedAt === null ? null : node.endedAt - node.openedAt,
    }))
    const view = {
      width: out.columns ?? widthDefault,
      rows: Number.MAX_SAFE_INTEGER,
      colour: wantsColour(out, env),
    }
    const text =
      input.flags['output'] === true
        ? turns.map(({ output }) => output).join('\n')
        : renderTree(shown, systemClock.now(), view).join('\n')
    printResult(input, { id, turns, calls: collectCalls(tree) }, text)
    return 0
  },
}

/** A client's own turn ends well whatever became of its call, so the call is shown instead. */
function showCalled(tree: Tree): Tree {
  const called = withoutClients(tree)
  return called.roots.length === 0 ? tree : called
}

const flowsMax = 100

/** The flow itself, the flow of a call, or those in which a session made calls. */
export async function findFlows(client: TielineClient, id: string): Promise<Flow[]> {
  if (id.startsWith('flow_')) return [await client.flow(id)]
  if (id.startsWith('call_')) {
    const { flow: found, errors } = await client.calls.get(id)
    if (found === null) throw new UsageError(`${id} was refused, so nothing came of it: ${errors[0] ?? ''}`)
    return [await client.flow(found)]
  }
  const { id: session } = await client.sessions.get(id)
  const made = await client.calls.list({ session, limit: flowsMax })
  const ids = [...new Set(made.flatMap((call) => call.flow ?? []))]
  if (ids.length === 0)
    throw new UsageError(
      `${session} has called nobody, so there is no tree to show. ` +
        `"tieline chat --session ${session}" goes on with it.`,
    )
  return Promise.all(ids.toReversed().map((one) => client.flow(one)))
}
