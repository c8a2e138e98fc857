/** `tieline flows`: requests, newest first, by their task. */
import { describeCost } from '../show/cost.ts'
import { costGroups, listCosts, renderCosts } from '../show/cost-lines.ts'
import { FlowsQuery, type FlowSummary } from '../../wire/flows.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { flagText, printResult, type Command, type CommandInput } from '../command.ts'
import { limitFlag, readLimit, refuseValue } from '../flags.ts'
import { withServer } from '../reach/reach.ts'
import { formatAgo, formatCount, formatDuration } from '../show/amounts.ts'
import { shortenIds, shortId } from '../show/short-id.ts'
import { oneLine } from '../show/width.ts'
import { renderList } from './calls.ts'

const states = FlowsQuery.shape.state.unwrap()

export const flows: Command = {
  name: 'flows',
  words: [],
  help: 'Lists requests, newest first: task, agent, state, cost, and what they wait for',
  flags: {
    state: { value: 'STATE', help: 'live, ended, failed, unseen, running, asking, queued or away' },
    agent: { value: 'NAME', help: 'only those that this agent was asked for' },
    project: { value: 'DIR', help: 'only those that work in this directory or below it' },
    by: { value: 'WHAT', help: 'instead: what all requests have cost, by day, agent, project or model' },
    limit: limitFlag,
  },
  more: `
A request ended as it did for the one who asked: where a program called an agent that failed, it has failed.
With --by, dollars stand next to tokens. What has no price is unpriced; what a plan covers is what it would have
cost. Days are in UTC, projects are the directories that sessions work in.`,
  examples: [
    'tieline flows',
    'tieline flows --state live          what runs now',
    'tieline flows --state failed --json',
    'tieline flow last                   the newest, as a tree',
    'tieline flows --by day              what each day has cost',
  ],
  async run(input: CommandInput): Promise<number> {
    const limit = readLimit(input)
    const [given, agent, project] = ['state', 'agent', 'project'].map((name) => flagText(input.flags[name]))
    const state = given === undefined ? undefined : states.safeParse(given)
    if (state?.success === false) throw refuseValue('state', given, `one of ${states.options.join(', ')}`)
    if (input.flags['by'] !== undefined) return printCosts(input)
    return withServer(input, async ({ client }) => {
      const ask = {
        limit,
        ...(state === undefined ? {} : { state: state.data }),
        ...(agent === undefined ? {} : { agent }),
        ...(project === undefined ? {} : { project }),
      }
      const { flows: found } = await client.flows(ask, { signal: input.signal })
      const now = systemClock.now()
      const title = 'FLOW  STATE  ASKED -> AGENT  (TIME, TOKENS)  BEGUN  TASK'
      const lines = found.map((flow) => renderFlow(flow, now))
      printResult(input, found, renderList(input, title, lines, 'There are no such requests in this log.'))
      return 0
    })
  },
}

async function printCosts(input: CommandInput): Promise<number> {
  const given = flagText(input.flags['by'])
  const by = costGroups.find((group) => group === given)
  if (by === undefined) throw refuseValue('by', given, `one of ${costGroups.join(', ')}`)
  return withServer(input, async ({ client }) => {
    const numbers = await client.numbers({}, input)
    const title = `${by.toUpperCase()}  COST  TOKENS`
    const lines = renderList(input, title, renderCosts(numbers, by), 'Nothing was spent in this log.')
    printResult(
      input,
      { by, all: numbers.tokens, sums: listCosts(numbers, by), prices: numbers.prices },
      lines,
    )
    return 0
  })
}

/** One line; what it waits for, or why it failed, is a line below. */
export function renderFlow(flow: FlowSummary, now: number): string {
  const state = flow.state === 'ended' ? (flow.outcome ?? 'ended').replaceAll('_', ' ') : flow.state
  const asked =
    flow.agent === '' ? oneLine(flow.askedBy) : `${oneLine(flow.askedBy)} -> ${oneLine(flow.agent)}`
  const cost = `(${formatDuration(flow.durationMs)}, ${formatCount(flow.tokensUsed)} tokens${describeCost(flow.cost)})`
  const head = [shortId(flow.flow), state, asked, cost, formatAgo(now - flow.openedAt), oneLine(flow.title)]
  const below = flow.state === 'ended' ? (flow.error ?? '') : flow.waitsFor
  return [head.join('  '), ...(below === '' ? [] : [`        ${shortenIds(oneLine(below))}`])].join('\n')
}
