/** Agents, and tools by name for programs that offer them to a model of their own. */
import { Agents } from '../wire/agents.ts'
import { Projects } from '../wire/projects.ts'
import { IdPath } from '../wire/scalars.ts'
import { Recorded, ToolPath, Tools, ToolsQuery, ToolUse, TracedTool, UsedTool } from '../wire/tools.ts'
import { defineRoutes, type App, type Deps } from './route.ts'
import { Answered, NewAnswer, Questions } from '../wire/questions.ts'

export function toolRoutes(app: App, deps: Deps): void {
  const agents = defineRoutes(app, deps, 'agents')
  agents(
    'GET',
    '/api/agents',
    { summary: 'Agents that can be called from the directory in x-tieline-cwd', answers: { 200: Agents } },
    ({ desk }) => desk.agents.list(),
  )
  agents(
    'GET',
    '/api/projects',
    { summary: 'Projects, with their agents and whether they are used', answers: { 200: Projects } },
    ({ desk }) => desk.agents.projects(),
  )
  const tools = defineRoutes(app, deps, 'tools')
  tools(
    'GET',
    '/api/tools',
    { summary: 'The tools that a session has', query: ToolsQuery, answers: { 200: Tools } },
    ({ desk, query }) => desk.tools.list(query),
  )
  tools(
    'POST',
    '/api/tools/:name',
    {
      summary: 'Use a tool',
      description:
        'Blocks until the tool has answered; a client that disconnects has cancelled what it asked for. ' +
        "What a rule does not allow is an answer in the tool's own shape.",
      params: ToolPath,
      body: ToolUse,
      answers: { 200: UsedTool },
      whenStopping: 'workGoesOn',
    },
    ({ desk, params, body }) => desk.tools.use(params.name, body.input, body),
  )
  tools(
    'POST',
    '/api/sessions/:id/trace',
    {
      summary: "Record what a tool of the session's own program did",
      params: IdPath,
      body: TracedTool,
      answers: { 200: Recorded },
    },
    ({ desk, params, body }) => desk.tools.trace(params.id, body),
  )
}

/** Permission questions: a person answers, never an agent. */
export function questionRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'questions')
  route('GET', '/api/questions', { summary: 'Open questions', answers: { 200: Questions } }, ({ desk }) =>
    desk.questions.list(),
  )
  route(
    'POST',
    '/api/questions/:id',
    { summary: 'Answer a question, once', params: IdPath, body: NewAnswer, answers: { 200: Answered } },
    ({ desk, params, body }) => desk.questions.answer(params.id, body),
  )
}
