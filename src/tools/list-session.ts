/** `list-session`: the sessions that can be written to. */
import { resolve } from 'node:path'
import { z } from 'zod'
import { sessionTool } from './session-tools.ts'

export const listSession = sessionTool({
  name: 'list-session',
  calling: false,
  description: ({ session }) =>
    `Lists sessions, newest first, with how many messages wait in the inbox of each. Your own session is ${session.id}.`,
  input: z.strictObject({
    dir: z
      .string()
      .min(1, 'a directory, or null for all')
      .nullable()
      .optional()
      .describe('only sessions of this directory, by default your own; null: all'),
    active: z
      .boolean()
      .nullable()
      .optional()
      .describe('true: only those that run or have work queued; false: only those that rest'),
  }),
  nothing: () => ({ sessions: [] }),
  run: async ({ dir, active }, { acts, session }) => ({
    sessions: await acts.listSessions({
      dir: dir === null ? null : resolve(session.cwd, dir ?? '.'),
      active: active ?? null,
    }),
  }),
})
