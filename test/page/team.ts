import { createAgent, type Gates, type Turn } from '../kits/page.ts'

/** A planner that calls a coder and then a reviewer; each stops at its gate. */
export const createTeam = (gate: Gates) => ({
  planner: createAgent(async (turn: Turn) => {
    turn.say('I look for somebody. ')
    await gate.wait('planner', turn.signal)
    const coded = await turn.tool('sub_agent', {
      agent_name: 'coder',
      task: 'Write slugify.mjs',
      context: { last_messages: 2, roles: ['user'] },
      timeout_seconds: 50,
    })
    const reviewed = await turn.tool('sub_agent', {
      agent_name: 'reviewer',
      task: 'Check slugify.mjs',
      allowed_tools: ['read'],
      timeout_seconds: 50,
    })
    return turn.think(`All is **written and approved** (${String(coded.ok)}, ${String(reviewed.ok)}).`)
  }),
  coder: createAgent(async (turn: Turn) => {
    await turn.tool('write', { path: 'slugify.mjs', content: 'export {}' })
    turn.say('I am in the middle of it')
    await gate.wait('coder', turn.signal)
    return turn.think('slugify.mjs is there.')
  }),
  reviewer: createAgent(async (turn: Turn) => {
    await gate.wait('reviewer', turn.signal)
    return turn.think('Approved.')
  }),
})
