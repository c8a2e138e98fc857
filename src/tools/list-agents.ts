/** `list_agents`: whom this caller may call, and whether they can be called now. */
import { z } from 'zod'
import { sessionTool } from './session-tools.ts'

const queryMax = 200

export const listAgents = sessionTool({
  name: 'list_agents',
  description:
    'Lists the agents that you may call, with what each is for and whether it can be called now. ' +
    'Use a name from it in sub_agent or call_agent.',
  input: z.strictObject({
    query: z
      .string()
      .max(queryMax, `a text of at most ${queryMax} characters`)
      .optional()
      .describe('only those whose name or description has this text'),
  }),
  run: async ({ query = '' }, { acts, callable }) => ({ agents: await acts.listAgents(callable, query) }),
})
