/** `tieline cancel <id>`: ends what a session, a call or a whole flow does, with everything below it. */
import type { TielineClient } from '../../client/client.ts'
import type { Flow } from '../../wire/log.ts'
import { toTurnId, type CallId } from '../../model/id.ts'
import { printJson, type Command, type CommandInput } from '../command.ts'

export const cancel: Command = {
  name: 'cancel',
  words: ['<id>'],
  help: 'Ends what a session, a call or a flow does, with everything below it',
  flags: { all: { help: 'of a session, what waits for its turn too' } },
  more: [
    'A session: the turn that runs. A call: the turn that it started; its caller gets the answer "cancelled" and goes on. A flow: everything that one request caused.',
    'Where nothing runs, nothing is done, and the exit code is 1.',
    '',
    'Examples:',
    '  tieline sessions',
    '  tieline cancel ses_01',
    '  tieline cancel call_01',
    '  tieline cancel flow_01 --json',
  ],
  async run(input: CommandInput): Promise<number> {
    const [{ withServer }, { surroundings }] = await Promise.all([
      import('../reach/reach.ts'),
      import('../../client/surroundings.ts'),
    ])
    const [id = ''] = input.words
    // One key for all tries: a second one must not end what came after the first.
    const key = surroundings.draw()
    return withServer(input, async ({ client }) => {
      const cancelled = await cancelledBy(client, id, {
        all: input.flags['all'] === true,
        key,
        signal: input.signal,
      })
      if (input.flags['json'] === true) printJson(input.out, { id, cancelled })
      else if (cancelled === 0)
        input.err.write(`tieline: nothing runs in ${id}; it has ended, or has not begun.\n`)
      else if (input.flags['quiet'] !== true)
        input.out.write(
          `Cancelled: ${cancelled === 1 ? 'one turn' : `${cancelled} turns`} of ${id}, and everything below.\n`,
        )
      return cancelled === 0 ? 1 : 0
    })
  },
}

type Ask = { all: boolean; key: string; signal: AbortSignal }

async function cancelledBy(client: TielineClient, id: string, { all, key, signal }: Ask): Promise<number> {
  const one = async (session: string, turn: string): Promise<number> =>
    (await client.sessions.cancel(session, { turn }, { signal, key: `${key}-${turn}` })).cancelled
  if (id.startsWith('call_')) {
    const { call, targetSession, outcome } = await client.calls.get(id, { signal })
    return targetSession === null || outcome !== null ? 0 : one(targetSession, toTurnId(call as CallId))
  }
  if (!id.startsWith('flow_')) return (await client.sessions.cancel(id, { all }, { signal, key })).cancelled
  let cancelled = 0
  for (const { session, turn } of rootsOf(await client.flow(id, { signal })))
    cancelled += await one(session, turn)
  return cancelled
}

/** What nobody of the flow waits for; calls end with those who made them. */
const rootsOf = ({ root, messages }: Pick<Flow, 'root' | 'messages'>): { session: string; turn: string }[] =>
  [root, ...messages].filter(({ outcome }) => outcome === null)
