/** A client that goes away: its turn is cancelled after a while, unless it comes back. */
import { describe, expect, test } from 'vitest'
import { graceMs } from '../../src/adapters/letta/serve.ts'
import { all, post, type Shown } from '../kits/letta.ts'
import { start, gate, handClock, until } from '../kits/letta-retry.ts'

describe('a client that goes away', () => {
  test.each(['messages', 'messages/stream'])(
    'has cancelled its turn after a while, and not before (%s)',
    async (path) => {
      const clock = handClock()
      const { agent, runs, running } = gate()
      const server = await start({ agents: { slow: agent }, clock })
      const left = new AbortController()
      const send = (signal?: AbortSignal): Promise<Response> =>
        post(
          `${server.url}/v1/agents/slow/${path}`,
          { content: 'think' },
          { 'content-type': 'application/json' },
          signal,
        )
      const gone = send(left.signal)
      await running(1)
      expect(clock.sleeping(graceMs)).toBe(0)
      left.abort()
      await expect(gone).rejects.toThrow('aborted')
      await until(() => clock.sleeping(graceMs) === 1)
      // Somebody who comes back in time stops the countdown, and starts it again by leaving.
      const leftAgain = new AbortController()
      const back = send(leftAgain.signal)
      await until(() => clock.sleeping(graceMs) === 0)
      leftAgain.abort()
      await expect(back).rejects.toThrow('aborted')
      await until(() => clock.sleeping(graceMs) === 1)
      expect(runs.map(({ signal }) => signal.aborted)).toEqual([false])
      clock.wake(graceMs)
      await until(() => runs[0]?.signal.aborted === true)
      await until(async () => (await all(server.client.agents.messages.list('slow'))).length === 2)
      expect(
        ((await all(server.client.agents.messages.list('slow'))) as unknown as Shown[])[0],
      ).toMatchObject({ is_err: true, message_type: 'assistant_message' })
    },
  )

  test('is noticed also when it goes before its turn has begun', async () => {
    const clock = handClock()
    const { agent, runs } = gate()
    let found = (): void => undefined
    const server = await start({
      agents: { slow: agent },
      clock,
      around: (desks) => ({
        ...desks,
        as(asker) {
          const { agents, sessions, log } = desks.as(asker)
          const session = async (id: string) => {
            await new Promise<void>((resolve) => (found = resolve))
            return agents.session(id)
          }
          return { ...desks.as(asker), sessions, log, agents: { ...agents, session } }
        },
      }),
    })
    const left = new AbortController()
    const gone = post(
      `${server.url}/v1/agents/slow/messages`,
      { content: 'think' },
      { 'content-type': 'application/json' },
      left.signal,
    )
    await until(() => found.name !== 'found')
    left.abort()
    await expect(gone).rejects.toThrow('aborted')
    await new Promise<void>((resolve) => setTimeout(resolve, 100))
    found()
    await until(() => clock.sleeping(graceMs) === 1)
    clock.wake(graceMs)
    await until(() => runs[0]?.signal.aborted === true)
  })

  test('is told what it missed when it reads the stream again', async () => {
    let open = (): void => undefined
    const server = await start({
      agents: {
        teller: {
          script: async (turn) => {
            turn.say('first ')
            await new Promise<void>((resolve) => (open = resolve))
            turn.say('second')
            return 'first second'
          },
        },
      },
    })
    const url = `${server.url}/v1/agents/teller/messages/stream`
    const body = { input: 'tell', stream_tokens: true }
    const left = new AbortController()
    const reader = (
      await post(url, body, { 'content-type': 'application/json' }, left.signal)
    ).body?.getReader()
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain('"first "')
    left.abort()
    const again = post(url, body)
    await until(async () => (await again).ok)
    open()
    const chunks = (await (await again).text())
      .split('\n\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)) as Shown)
    expect(
      chunks.filter(({ message_type: type }) => type === 'assistant_message').map(({ content }) => content),
    ).toEqual(['first ', 'second'])
    expect(chunks.at(-2)).toMatchObject({ stop_reason: 'end_turn' })
  })
})
