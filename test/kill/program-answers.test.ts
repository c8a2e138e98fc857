/** A server that dies while it answers a connected program. */
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { startServer, gone, logOf, directoryOf, roundsEach } from '../kits/kill-server.ts'

type Frame = { type: string; [more: string]: unknown }

/**
 * A program that runs one session, says what its turn should, and can be asked for the next frame of a type.
 */
async function hostOf(
  url: string,
  onFrame: (frame: Frame) => void = () => undefined,
): Promise<{ ws: WebSocket; next(type: string): Promise<Frame>; send(frame: Frame): void }> {
  const ws = new WebSocket(`${url.replace(/^http/, 'ws')}/ws/host`)
  onTestFinished(() => ws.terminate())
  ws.on('error', () => undefined)
  await once(ws, 'open')
  const frames: Frame[] = []
  const waiters = new Set<() => void>()
  ws.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Frame
    onFrame(frame)
    frames.push(frame)
    for (const tell of waiters) tell()
  })
  const send = (frame: Frame): void => ws.send(JSON.stringify(frame))
  return {
    ws,
    send,
    next: (type) =>
      new Promise((resolve) => {
        const look = (): void => {
          const at = frames.findIndex((frame) => frame.type === type)
          if (at < 0) return
          waiters.delete(look)
          resolve(frames.splice(at, 1)[0] as Frame)
        }
        waiters.add(look)
        look()
      }),
  }
}

test(
  'R2: kill -9 on the first byte of a result for a program: its turn asks again, with the same result',
  { timeout: 20_000 + roundsEach * 30_000 },
  async () => {
    const directory = directoryOf()
    const hello: Frame = {
      type: 'hello',
      agent: 'mine',
      tools: ['sub_agent'],
      sessions: [{ id: 'one', cwd: directory }],
    }
    let server = await startServer(directory)
    for (let n = 0; n < roundsEach; n += 1) {
      const { child } = server
      const host = await hostOf(
        server.url,
        (frame) => void (frame.type === 'tool.result' && child.kill('SIGKILL')),
      )
      host.send(hello)
      await host.next('welcome')
      const post = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: `go ${n}`, messageId: `go-${n}` }),
      }
      expect((await fetch(`${server.url}/api/sessions/ses_mine-one/messages`, post)).status).toBe(202)
      const { turn } = await host.next('turn')
      const use: Frame = {
        type: 'tool',
        turn,
        id: `use-${n}`,
        name: 'sub_agent',
        input: { agent_name: 'clerk', task: `letter ${n}` },
      }
      host.send(use)
      const first = await host.next('tool.result')
      await gone(server)
      server = await startServer(directory)
      const again = await hostOf(server.url)
      again.send(hello)
      await again.next('welcome')
      expect((await again.next('turn'))['turn']).toBe(turn)
      again.send(use)
      expect(await again.next('tool.result'), `round ${n}`).toEqual(first)
      again.send({ type: 'answer', turn, output: `done ${n}` })
      const state = (await (
        await fetch(`${server.url}/api/sessions/ses_mine-one/wait?timeoutMs=20000`)
      ).json()) as { lastMessage: { content: string } }
      expect(state.lastMessage.content).toBe(`done ${n}`)
    }
    server.child.kill('SIGKILL')
    await gone(server)
    const opened = (await logOf(directory)).flatMap(({ event }) =>
      event.type === 'call.opened' ? [event.task] : [],
    )
    expect(opened.toSorted()).toEqual(Array.from({ length: roundsEach }, (_, n) => `letter ${n}`).toSorted())
  },
)
