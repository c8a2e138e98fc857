/** What the stalls bench fills a server with, so that every answer can be as long as it may be. */
import type { Ids } from './stall-routes.ts'
import { bodyUnits, taskUnits, texts } from './stall-texts.ts'

const postMsMax = 60_000

const post = async (url: string, path: string, body: unknown): Promise<Record<string, string>> =>
  (await (
    await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(postMsMax),
    })
  ).json()) as Record<string, string>

/**
 * Conversations as long as their pages, at both doors; results of 1 MiB, calls with long inputs, an inbox and
 * drafts that are full of long messages.
 */
export async function furnish(url: string, cwd: string): Promise<Ids> {
  const session = (await post(url, '/api/sessions', { cwd, agent: 'shout' }))['sessionId'] ?? ''
  const { call_id: call = '' } = await post(url, '/api/calls', {
    agent: 'shout',
    task: 'x ',
  })
  for (let n = 0; n < 20; n += 1)
    await post(url, `/api/sessions/${session}/messages`, { message: `word${n} ` })
  for (let n = 0; n < 60; n += 1)
    await post(url, `/api/sessions/${session}/messages`, {
      message: texts['brackets']?.(taskUnits),
      delivery: 'buffer',
    })
  for (let n = 0; n < 10; n += 1) {
    await post(url, '/v1/agents/shout/messages', { input: `word${n} ` })
    await post(url, '/api/calls', {
      agent: 'clerk',
      task: texts['random letters']?.(taskUnits - n),
      input: texts['blanks']?.(bodyUnits / 2),
      max_context_tokens: 1_000_000,
    })
  }
  for (let n = 0; n < 30; n += 1)
    await post(url, '/api/messages', { message: texts['brackets']?.(taskUnits), session, draft: true })
  const target = (await post(url, '/api/sessions', { cwd, agent: 'clerk' }))['sessionId'] ?? ''
  const draft = await post(url, '/api/messages', { message: 'x', session, draft: true })
  const flow = ((await (await fetch(`${url}/api/calls/${call}`)).json()) as { flow?: string }).flow ?? ''
  const agent = (await post(url, '/v1/agents', { name: 'a', system: 'x' }))['id'] ?? ''
  await post(url, '/api/calls', { agent: 'worker', task: `prepare ${session} ${target} ${call}` })
  return { session, target, call, flow, message: draft['id'] ?? '', agent }
}
