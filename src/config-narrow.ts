/** A found configuration may only narrow what the user's own one allows. Pure, on tables as they are written. */
import { meetTools } from './model/authority.ts'
import { table } from './model/table.ts'

type Table = Record<string, unknown>

const isTable = (value: unknown): value is Table =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
const tableAt = (table: unknown, key: string): Table =>
  isTable(table) && isTable(table[key]) ? table[key] : {}

/**
 * `[limits]`: of each limit that both have, the smaller one. `[tools]`: a tool must be enabled by both, the
 * user's locks hold, and the user's defaults count where the found file has none. The sandbox: the stricter of
 * both, and what the user hides stays hidden. Everything else is the found file's. What is no table or number
 * is left for the check of the whole file to report.
 */
export function narrowConfig(found: unknown, own: unknown): unknown {
  if (!isTable(found)) return found
  const [limits, tools] = [found['limits'], found['tools']]
  if ((limits !== undefined && !isTable(limits)) || (tools !== undefined && !isTable(tools))) return found
  return {
    ...found,
    limits: narrowLimits(limits ?? {}, tableAt(own, 'limits')),
    tools: narrowTools(tools ?? {}, tableAt(own, 'tools'), (tool) => isOfServers(tool, own, found)),
    ...narrowSandbox(found, own),
  }
}

/** From the loosest to the strictest. */
const modes = ['off', 'auto', 'required']
const networks = ['any', 'public', 'none']

/** What is not one of the words is left for the check of the whole file to report. */
function chooseStricter(words: readonly string[], wanted: unknown, least: unknown): unknown {
  if (wanted === undefined || least === undefined) return wanted ?? least
  const [at, from] = [words.indexOf(wanted as string), words.indexOf(least as string)]
  return at === -1 || from <= at ? wanted : least
}

function narrowSandbox(found: Table, own: unknown): Table {
  const least = tableAt(own, 'server')['sandbox']
  const [box, ownBox] = [tableAt(found, 'sandbox'), tableAt(own, 'sandbox')]
  const network = chooseStricter(networks, box['network'], ownBox['network'])
  const hides = (table: Table): unknown[] => (Array.isArray(table['hidden']) ? table['hidden'] : [])
  const narrowAgent = (agent: unknown): unknown =>
    isTable(agent) && agent['sandbox'] !== undefined
      ? { ...agent, sandbox: chooseStricter(modes, agent['sandbox'], least) }
      : agent
  return {
    ...(least === undefined
      ? {}
      : {
          server: {
            ...tableAt(found, 'server'),
            sandbox: chooseStricter(modes, tableAt(found, 'server')['sandbox'], least),
          },
          agents: Object.fromEntries(
            Object.entries(tableAt(found, 'agents')).map(([name, agent]) => [name, narrowAgent(agent)]),
          ),
        }),
    ...(isTable(found['sandbox'] ?? {})
      ? {
          sandbox: {
            ...box,
            ...(network === undefined ? {} : { network }),
            hidden: [...hides(box), ...hides(ownBox)],
          },
        }
      : {}),
  }
}

/** Whether a tool belongs to an MCP server that only the user's own agents have. */
function isOfServers(tool: string, own: unknown, found: unknown): boolean {
  const hasServer = (config: unknown): boolean =>
    Object.values(tableAt(config, 'agents')).some((agent) =>
      Object.keys(tableAt(agent, 'mcpServers')).some((server) => tool.startsWith(`${server}_`)),
    )
  return hasServer(own) && !hasServer(found)
}

function narrowLimits(found: Table, own: Table): Table {
  const both = Object.entries(own).map(([name, most]) => {
    const wanted = found[name]
    if (wanted === undefined) return [name, most]
    return [name, typeof wanted === 'number' && typeof most === 'number' ? Math.min(wanted, most) : wanted]
  })
  return { ...found, ...Object.fromEntries(both) }
}

function narrowTools(found: Table, own: Table, isElsewhere: (tool: string) => boolean): Table {
  const ofOwn = (key: string): Table =>
    Object.fromEntries(Object.entries(tableAt(own, key)).filter(([tool]) => !isElsewhere(tool)))
  return {
    ...found,
    enable: narrowEnabled(found['enable'], own['enable']),
    defaults: mergeParameters(ofOwn('defaults'), found['defaults']),
    locked: mergeParameters(found['locked'], ofOwn('locked')),
  }
}

const readPatterns = (enable: unknown): unknown =>
  enable === undefined || enable === true ? ['*'] : enable === false ? [] : enable

function narrowEnabled(found: unknown, own: unknown): unknown {
  const [wanted, most] = [readPatterns(found), readPatterns(own)]
  const isList = (list: unknown): list is string[] =>
    Array.isArray(list) && list.every((name) => typeof name === 'string')
  return isList(wanted) && isList(most) ? meetTools(wanted, most) : wanted
}

/** `upper` wins, parameter by parameter. */
function mergeParameters(lower: unknown, upper: unknown): unknown {
  if (!isTable(lower) || !isTable(upper)) return lower === undefined ? upper : (upper ?? lower)
  const names = new Set([...Object.keys(lower), ...Object.keys(upper)])
  return Object.fromEntries(
    [...names].map((name) => {
      const [below, above] = [table(lower)[name], table(upper)[name]]
      return [name, isTable(below) && isTable(above) ? { ...below, ...above } : (above ?? below)]
    }),
  )
}
