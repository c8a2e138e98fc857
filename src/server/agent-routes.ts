/** Agents that there are: configured, made by API, built in. */
import { AgentList } from './answer-shapes.ts'
import { answer, shapes, whoOf, type App, type Deps } from './route.ts'

export function agentRoutes(app: App, { exchange }: Deps): void {
  app.get(
    '/api/agents',
    { schema: shapes({ summary: 'Configured and created agents', tag: 'agents' }, { 200: AgentList }) },
    async (request, reply) => {
      const agents = await exchange.agents()
      // An agent may know whom it can call, not how they were told to behave.
      return answer(reply, 200, {
        agents: whoOf(request).kind === 'user' ? agents : agents.map((agent) => ({ ...agent, system: '' })),
      })
    },
  )
}
