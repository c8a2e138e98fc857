/** `tieline agents`: what can be called from this directory, and why something cannot. */
import { cureUntrusted } from '../../model/untrusted.ts'
import type { AgentView } from '../../wire/agents.ts'
import type { ProjectView } from '../../wire/projects.ts'
import { printResult, type Command, type CommandInput } from '../command.ts'
import { withServer } from '../reach/reach.ts'
import { oneLine } from '../show/width.ts'
import { renderList } from './calls.ts'

export const agents: Command = {
  name: 'agents',
  words: [],
  help: 'Lists the agents that can be called from here, with their state and why one cannot be called',
  flags: {},
  more: `
Those of the project come first, then your own. A project whose configuration is not used is named below, with
the reason. "project/agent" calls an agent of another project that has shared = true.`,
  examples: ['tieline agents', 'tieline agents --json', 'tieline call reviewer "Look at the last commit"'],
  run: (input: CommandInput) =>
    withServer(input, async ({ client }) => {
      const found = await client.agents(input)
      const projects = await client.projects(input)
      const title = 'AGENT  RUN BY  STATE  WHAT IT IS FOR'
      const lines = renderAgents(found, projects, process.cwd())
      const list = renderList(input, title, lines, 'No agent can be called from here.')
      printResult(input, { agents: found, projects }, list)
      return 0
    }),
}

export function renderAgents(
  found: readonly AgentView[],
  projects: readonly ProjectView[],
  cwd: string,
): string[] {
  const unused = projects.filter(
    ({ state, directory }) => state !== 'used' && (cwd === directory || cwd.startsWith(`${directory}/`)),
  )
  const shared = projects.flatMap(({ name, directory, state, agents: theirs }) =>
    state === 'used' && !found.some(({ project }) => project === directory)
      ? theirs.filter((agent) => agent.shared).map((agent) => ({ ...agent, name: `${name}/${agent.name}` }))
      : [],
  )
  return [
    ...found.map(({ name, driver, status, reason, description, limit, windows = [] }) =>
      [
        oneLine(name),
        driver,
        reason === null ? status : `${status}: ${oneLine(reason)}`,
        limit === undefined ? '' : oneLine(limit),
        windows
          .map(
            ({ name: window, usedPercent, resetsAt }) =>
              `${oneLine(window)}: ${usedPercent} % used, until ${resetsAt}`,
          )
          .join('; '),
        oneLine(description),
      ]
        .filter((text) => text !== '')
        .join('  '),
    ),
    ...shared.map(({ name, description }) => `${oneLine(name)}  shared  ${oneLine(description)}`.trimEnd()),
    ...unused.map(
      ({ file, state, problem }) =>
        `${file} is not used (${state}${problem === null ? '' : `: ${oneLine(problem)}`}): ` +
        `${cureUntrusted(state)}.`,
    ),
  ]
}
