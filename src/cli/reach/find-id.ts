/** What an id that a person typed stands for: a whole id, a part of one, or `last`. */
import type { TielineClient } from '../../client/client.ts'
import { TielineError } from '../../client/tieline-error.ts'

const isMissing = (error: unknown): boolean => error instanceof TielineError && error.status === 404

/** A whole id says itself what it is. A part is looked for among flows, then calls, then sessions. */
export async function findId(client: TielineClient, given: string, signal?: AbortSignal): Promise<string> {
  if (/^(flow|call|ses)_./.test(given)) {
    if (given.startsWith('flow_')) return (await client.flow(given, { signal })).flow
    if (given.startsWith('call_')) return (await client.calls.get(given, { signal })).call
    return given
  }
  const finds = [
    async () => (await client.flow(given, { signal })).flow,
    async () => (await client.calls.get(given, { signal })).call,
  ]
  for (const find of finds) {
    try {
      return await find()
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
  try {
    return (await client.sessions.get(given, { signal })).id
  } catch (error) {
    if (!(error instanceof TielineError) || !isMissing(error)) throw error
    const message =
      given === 'last'
        ? 'Nothing has run yet, so there is no last one.'
        : `No flow, call or session has "${given}" in its id. ` +
          '"tieline flows", "tieline calls" and "tieline sessions" list them.'
    throw new TielineError({ code: error.code, message }, error.status)
  }
}
