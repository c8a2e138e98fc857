/** What the opencode checks share: the world, the answers of the model, and waiting for a result. */
import assert from 'node:assert/strict'
import type { TielineClient } from '../src/client/client.ts'
import type { Event } from '../src/model/event.ts'
import type { FakeModel, FakeRule } from '../test/kits/fake-model.ts'
import { waitFor } from './agents/world.ts'
import { agentName, type Opencode } from './opencode-process.ts'

export { waitFor }

export const secret = 'tangerine'

export type World = {
  fake: FakeModel
  opencode: Opencode
  client: TielineClient
  /** Every event of the server so far. */
  events: Event[]
}
export type Check = { name: string; run: (world: World) => Promise<string> }

export const toServerId = (own: string): string => `ses_${agentName}-${own}`

/** The model answers the next prompt that contains `user` with one tool call, and then with `then`. */
export const answerWithTool = (user: string, name: string, input: unknown, then = 'Done.'): FakeRule[] => [
  { when: { user }, times: 1, tools: [{ name, input }] },
  { when: { user }, text: then },
]

/** Lets the model use a tool, and returns the result as the model reads it. */
export async function useTool<T>(
  { opencode, fake }: World,
  session: string,
  name: string,
  input: unknown,
): Promise<T> {
  const prompt = `Use ${name}, try ${fake.rules.length}`
  fake.rules.unshift(...answerWithTool(prompt, name, input))
  await opencode.prompt(session, prompt)
  const used = (await opencode.messages(session))
    .flatMap(({ parts }) => parts)
    .findLast((part) => part.type === 'tool' && part.tool === name)
  assert.equal(used?.state?.status, 'completed', `${name}: ${JSON.stringify(used?.state)}`)
  return JSON.parse(used?.state?.output ?? '') as T
}

export type Mail = { id: string; session: string | null; status: string; draft: boolean; buffered: boolean }

/** Waits until the server knows a session of opencode. */
export const waitForSession = (client: TielineClient, own: string): Promise<string> =>
  waitFor(
    `session ${own}`,
    async () => (await client.sessions.list({})).sessions.find(({ id }) => id === toServerId(own))?.id,
  )

/** The whole text of an opencode session. */
export const readText = async (opencode: Opencode, session: string): Promise<string> =>
  (await opencode.messages(session))
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])))
    .join('\n')
