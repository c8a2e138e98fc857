import { expect, test } from 'vitest'
import { expandedMessage } from './expanded-message.ts'

test('a message is not written out for a use that was stopped while the conversation was forked', async () => {
  const stop = new AbortController()
  const [asked, used, said]: [unknown[], unknown[], string[]] = [[], [], []]
  const deps = {
    opencode: { session: { prompt: async (ask: unknown) => (asked.push(ask), { data: { parts: [] } }) } },
    sessions: {
      async aside(_id: string, _before: string, work: (fork: object) => Promise<string>) {
        stop.abort(new Error('the use was stopped'))
        return work({ id: 'fork' })
      },
    },
    report: (text: string) => void said.push(text),
  }
  const context = { sessionID: 'ses', messageID: 'msg', abort: stop.signal }
  const args = { message: 'in short', elaborate: true }
  const use = async (input: unknown): Promise<object> => (used.push(input), { ok: true, value: {} })
  await expandedMessage(deps as never, {} as never, args, context as never, use as never)
  expect([asked, used]).toEqual([[], [args]])
  expect(said).toEqual(['the message could not be written out: the use was stopped'])
})
