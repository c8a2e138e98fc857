/** What the checks of opencode share: a world, the model's next answers, and waiting for what comes. */
import assert from 'node:assert/strict'
import type { TielineClient } from '../src/client/client.ts'
import type { Event } from '../src/model/event.ts'
import type { FakeModel, FakeRule } from '../test/fake-model.ts'
import { agentName, type Opencode } from './opencode-process.ts'

export const secret = 'tangerine'
const waitMsMax = 60_000

export type World = {
  fake: FakeModel
  opencode: Opencode
  client: TielineClient
  /** Everything that has happened at the server. */
  events: Event[]
}
export type Check = { name: string; run: (world: World) => Promise<string> }

export const ours = (own: string): string => `ses_${agentName}-${own}`

/** The model answers the next prompt with this text in it by one tool, and then says so. */
export const uses = (user: string, name: string, input: unknown, then = 'Done.'): FakeRule[] => [
  { when: { user }, times: 1, tools: [{ name, input }] },
  { when: { user }, text: then },
]

export async function until<T>(what: string, look: () => Promise<T | null | undefined | false>): Promise<T> {
  for (
    const end = Date.now() + waitMsMax;
    Date.now() < end;
    await new Promise((resolve) => setTimeout(resolve, 200))
  ) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
  }
  throw new Error(`${what}: it did not come in ${waitMsMax / 1000} s`)
}

/** What the tool answered, as the model read it. */
export async function toolUse<T>(
  { opencode, fake }: World,
  session: string,
  name: string,
  input: unknown,
): Promise<T> {
  const prompt = `Use ${name}, try ${fake.rules.length}`
  fake.rules.unshift(...uses(prompt, name, input))
  await opencode.prompt(session, prompt)
  const used = (await opencode.messages(session))
    .flatMap(({ parts }) => parts)
    .findLast((part) => part.type === 'tool' && part.tool === name)
  assert.equal(used?.state?.status, 'completed', `${name}: ${JSON.stringify(used?.state)}`)
  return JSON.parse(used?.state?.output ?? '') as T
}

export type Mail = { id: string; session: string | null; status: string; draft: boolean; buffered: boolean }

/** Until the server has heard of a session of opencode. */
export const known = (client: TielineClient, own: string): Promise<string> =>
  until(
    `session ${own}`,
    async () => (await client.sessions.list({})).sessions.find(({ id }) => id === ours(own))?.id,
  )

/** All that stands in a session of opencode. */
export const heard = async (opencode: Opencode, session: string): Promise<string> =>
  (await opencode.messages(session))
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])))
    .join('\n')
