/**
 * A server that is killed between an announcement and the acceptance of the mail. Each round kills it at another
 * moment: while the hook is asked, right after its answer, or while the mail is taken.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import type { ClaudeHookAnswer } from '../../src/wire/hooks.ts'
import { directoryOf, gone, logOf, startServer, type Server } from '../kits/kill-server.ts'

const roundsMax = Number(process.env['ANNOUNCED_KILL_ROUNDS'] ?? 6)
const session = 'ses_client-claude-code_one'

const hook = async ({ url }: Server, cwd: string, name: string): Promise<ClaudeHookAnswer> => {
  const answer = await fetch(`${url}/api/hooks/claude`, {
    method: 'POST',
    // Not the directory of this process, so it must bring the user's token.
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${readFileSync(join(cwd, 'data', 'token'), 'utf8').trim()}`,
    },
    body: JSON.stringify({ session_id: 'one', cwd, hook_event_name: name }),
  })
  return (await answer.json()) as ClaudeHookAnswer
}
const take = ({ url }: Server, id: string) =>
  tielineClient({ url }).tools.use('buffer', { accept: id }, { session })

test('kill -9 between announcement and acceptance loses and doubles nothing', async () => {
  const directory = directoryOf()
  let server = await startServer(directory)
  await hook(server, directory, 'SessionStart')
  const { sessionId: peer } = await tielineClient({ url: server.url }).sessions.create({
    cwd: directory,
    agent: 'external',
  })
  const [told, taken, sent]: [string[], string[], string[]] = [[], [], []]
  const note = (answer: ClaudeHookAnswer): void => {
    for (const id of sent)
      if (answer.hookSpecificOutput?.additionalContext.includes(`${id} from`) === true) told.push(id)
  }
  for (let round = 0; round < roundsMax; round += 1) {
    const { id } = await tielineClient({ url: server.url }).mail.send({
      from: peer,
      session,
      message: `mail ${round}`,
    })
    sent.push(id)
    const moment = round % 3
    if (moment > 0) note(await hook(server, directory, 'UserPromptSubmit'))
    const asked = moment === 0 ? hook(server, directory, 'UserPromptSubmit').then(note) : null
    const accepted = moment === 2 ? take(server, id).then(() => taken.push(id)) : null
    await new Promise((resolve) => setTimeout(resolve, round * 2))
    server.child.kill('SIGKILL')
    await Promise.allSettled([gone(server), asked, accepted])
    server = await startServer(directory)
    // Whatever became of the announcement: it is not made again where it was heard, and the mail is there.
    note(await hook(server, directory, 'PostToolUse'))
    const { messages } = await tielineClient({ url: server.url }).mail.inbox(session)
    if (messages.some((message) => message.id === id && message.status !== 'delivered')) {
      await take(server, id)
      taken.push(id)
    }
  }
  server.child.kill('SIGKILL')
  await gone(server)
  const events = (await logOf(directory)).map(({ event }) => event)
  const announced = events.flatMap((event) => (event.type === 'mail.announced' ? event.messages : []))
  expect(new Set(announced).size).toBe(announced.length)
  expect(new Set(told).size).toBe(told.length)
  const delivered = events.flatMap((event) => (event.type === 'message.delivered' ? [event.message] : []))
  expect(delivered.toSorted()).toEqual(sent.toSorted())
}, 240_000)
