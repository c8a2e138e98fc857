import type { TielineOptions } from '../../src/line.ts'

type Agent = NonNullable<TielineOptions['agents']>[string]

/** An agent that passes its task on to another one, and says what that said. */
export const delegate = (to: string): Agent => ({
  tools: ['sub_agent'],
  allowSubAgentCalls: true,
  script: async (turn) => {
    const { value } = await turn.tool('sub_agent', { agent_name: to, task: turn.task })
    return (value as { output: string }).output
  },
})
