/** Text as it streams, for those who come in the middle of it. */
import { expect, test } from 'vitest'
import { listen, serve, until } from '../kits/http.ts'

test('whoever comes in the middle of a step is told first what it has said so far, and then what comes', async () => {
  const go = new Map<string, () => void>()
  const wait = (name: string) => new Promise<void>((resolve) => void go.set(name, resolve))
  const served = await serve(
    {},
    {
      agents: {
        slow: {
          script: async (turn) => {
            turn.say('one ')
            turn.say('two ')
            await wait(turn.task)
            turn.say('three')
            await wait(turn.task)
            return 'one two three'
          },
        },
      },
    },
  )
  const [id, other] = [await served.open('slow'), await served.open('slow')]
  for (const [session, message] of [
    [id, 'a'],
    [other, 'b'],
  ])
    await served.post(`/api/sessions/${session}/messages`, { message })
  await until(() => go.size === 2)
  const deltas = (socket: { frames: { type: string }[] }) =>
    socket.frames.filter((frame) => frame.type === 'delta')
  for (const query of [`?session=${id}`, `?session=${id}&after=0`]) {
    const socket = await listen(served.url, query)
    await until(() => deltas(socket).length === 1)
    expect(deltas(socket)).toMatchObject([{ session: id, offset: 0, text: 'one two ' }])
    // Those that it knows already come before what is said in them.
    expect(socket.frames.at(-1)).toMatchObject({ type: 'delta' })
    await socket.close()
  }
  const all = await listen(served.url)
  await until(() => deltas(all).length === 2)
  go.get('a')?.()
  await until(() => deltas(all).length === 3)
  expect(deltas(all).at(-1)).toMatchObject({ session: id, offset: 8, text: 'three' })
  await all.close()
})
