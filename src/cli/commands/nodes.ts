/** `tieline nodes`: the nodes of a cluster. */
import type { NodeView } from '../../wire/server.ts'
import { printResult, UsageError, type Command, type CommandInput } from '../command.ts'
import { findPlace } from '../reach/place.ts'
import { findNamedServer, findRunningServer } from '../reach/reach.ts'
import { countNoun } from '../show/amounts.ts'
import { oneLine } from '../show/width.ts'
import { renderList } from './calls.ts'

export const nodes: Command = {
  name: 'nodes',
  words: [],
  help: 'Lists the nodes of a cluster: labels, version, what they run, and whether they live',
  flags: {},
  more: `
It asks a server that runs. A server with a log of its own (SQLite) is no cluster, and has none.`,
  examples: ['tieline nodes', "tieline nodes --json | jq '.[] | select(.alive)'"],
  async run(input: CommandInput): Promise<number> {
    const client =
      (await findNamedServer(input)) ?? (await findRunningServer(await findPlace(input)))?.client ?? null
    if (client === null) throw new UsageError('no server runs here; start one with "tieline serve".')
    const found = await client.nodes(input)
    const title = 'NODE  STATE  RUNNING  VERSION  ADDRESS  LABELS'
    const none = 'This server has the log to itself: it is no cluster.'
    printResult(input, found, renderList(input, title, found.map(renderNode), none))
    return 0
  },
}

export const renderNode = ({ name, alive, running, version, url, labels }: NodeView): string =>
  [
    oneLine(name),
    alive ? 'alive' : 'gone',
    countNoun(running, 'turn'),
    version,
    url ?? 'serves nobody',
    ...(labels.length === 0 ? [] : [labels.join(', ')]),
  ].join('  ')
