/** One Letta server for a file of tests, with agents that look, ask, break and run dry. */
import { afterAll, beforeAll } from 'vitest'
import { lettaServer, type LettaServer } from './letta.ts'

export let server: LettaServer

export let opened = (): void => undefined

beforeAll(async () => {
  server = await lettaServer({
    agents: {
      looper: {
        tools: ['list'],
        limits: { maxIterations: 3 },
        script: [{ say: 'Looking.', tools: [{ name: 'list', input: {} }] }],
      },
      looker: {
        tools: ['list'],
        script: [
          { when: { iteration: 1 }, say: 'Let me look.', tools: [{ name: 'list', input: {} }] },
          { say: 'There is something.' },
        ],
      },
      asker: {
        tools: ['sub_agent'],
        allowSubAgentCalls: true,
        script: [
          {
            when: { iteration: 1 },
            tools: [{ name: 'sub_agent', input: { agent_name: 'closed', task: 'Open.' } }],
          },
          { say: '{{result.output}}' },
        ],
      },
      closed: { script: () => new Promise((resolve) => (opened = () => resolve('opened'))) },
      broken: { script: [{ fail: 'out of order' }] },
      empty: { script: () => '' },
      poor: {
        limits: { maxTokens: 30 },
        script: async (turn) => {
          for (;;) await turn.think('Once upon a time.')
        },
      },
    },
  })
})

afterAll(() => server.close())

export const create = (name: string, more: object = {}) => server.client.agents.create({ name, ...more })

export const listTypes = (messages: readonly { message_type?: string }[]): (string | undefined)[] =>
  messages.map(({ message_type: type }) => type)
