/** `tieline cancel <id>`: ends what a session, a call or a whole flow does, with everything below it. */
import type { TielineClient } from '../../client/client.ts'
import { surroundings } from '../../client/surroundings.ts'
import { toTurnId, type CallId } from '../../model/id.ts'
import { printError, printResult, type Command, type CommandInput } from '../command.ts'
import { findId } from '../reach/find-id.ts'
import { withServer } from '../reach/reach.ts'
import { countNoun } from '../show/amounts.ts'

export const cancel: Command = {
  name: 'cancel',
  words: ['<id>'],
  help: 'Ends what a session, a call or a flow does, with everything below it',
  flags: { all: { help: "also cancel a session's queued turns" } },
  more: `
Of a session, it ends the running turn. Of a call, it ends the turn that the call started; the caller gets the
answer "cancelled" and goes on. Of a flow, it ends everything that one request caused.
If nothing runs, the exit code is 1.`,
  examples: [
    'tieline sessions',
    'tieline cancel ses_01',
    'tieline cancel call_01',
    'tieline cancel flow_01 --json',
  ],
  async run(input: CommandInput): Promise<number> {
    const [given = ''] = input.words
    // One key for all tries, so that a retry does not end what came after the first.
    const key = surroundings.draw()
    return withServer(input, async ({ client }) => {
      const id = await findId(client, given, input.signal)
      const cancelled = await cancelAll(client, id, input, key)
      if (cancelled === 0 && input.flags['json'] !== true)
        printError(input.err, `nothing runs in ${id}; it has ended, or has not begun.`)
      const text = `Cancelled: ${countNoun(cancelled, 'turn')} of ${id}, and everything below.`
      printResult(input, { id, cancelled }, cancelled === 0 ? '' : text, '')
      return cancelled === 0 ? 1 : 0
    })
  },
}

async function cancelAll(
  client: TielineClient,
  id: string,
  { flags, signal }: CommandInput,
  key: string,
): Promise<number> {
  const cancelTurn = async (session: string, turn: string): Promise<number> =>
    (await client.sessions.cancel(session, { turn }, { signal, key: `${key}-${turn}` })).cancelled
  if (id.startsWith('call_')) {
    const { call, targetSession, outcome } = await client.calls.get(id, { signal })
    return targetSession === null || outcome !== null
      ? 0
      : cancelTurn(targetSession, toTurnId(call as CallId))
  }
  if (!id.startsWith('flow_'))
    return (await client.sessions.cancel(id, { all: flags['all'] === true }, { signal, key })).cancelled
  const { root, messages } = await client.flow(id, { signal })
  let cancelled = 0
  // The turns that nothing in the flow waits for: calls end with their callers.
  for (const { session, turn, outcome } of [root, ...messages])
    if (outcome === null) cancelled += await cancelTurn(session, turn)
  return cancelled
}
