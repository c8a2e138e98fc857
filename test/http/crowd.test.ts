import { readAll } from '../../src/runtime/kernel/scope.ts'
import { expect, test } from 'vitest'
import { exchangeOf } from '../kits/askers.ts'
import { listen, serve, until, type Frame, type Listening, type Served } from '../kits/http.ts'

const clients = 200

async function chat({ post, get }: Served, id: string, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    await post(`/api/sessions/${id}/messages`, { message: `message ${n}` })
    await get(`/api/sessions/${id}/wait`)
  }
}

const eventsOf = (frames: readonly Frame[]): string[] =>
  frames.flatMap((frame) => (frame.type === 'event' ? [frame.seq ?? ''] : []))

/** A client that comes back by its last number whenever it is thrown out. */
async function follower(url: string, session: string, after: string) {
  const seen: string[] = []
  let current: Listening | null = null
  let last = after
  const collect = (): void => {
    const fresh = eventsOf(current?.frames.splice(0) ?? [])
    seen.push(...fresh)
    last = fresh.at(-1) ?? last
  }
  const join = async (): Promise<void> => {
    current = await listen(url, `?after=${last}&session=${session}`)
  }
  await join()
  return {
    seen,
    collect,
    async reconnect() {
      current?.ws.terminate()
      await current?.closed
      collect()
      await join()
    },
    leave: () => current?.ws.terminate(),
  }
}

test(`${clients} listeners that are cut off again and again lose nothing and see nothing twice`, async () => {
  const served = await serve()
  const id = await served.open('echo')
  await chat(served, id, 3)
  const all = await Promise.all(Array.from({ length: clients }, () => follower(served.url, id, '0')))
  let done = false
  const talking = chat(served, id, 40).finally(() => (done = true))
  for (let n = 0; !done; n += 1) await all[(n * 7) % clients]?.reconnect()
  await talking
  const wanted = (await readAll(served.line.store, 0, { sessions: [id] })).map(({ seq }) => String(seq))
  await until(() => {
    for (const one of all) one.collect()
    return all.every(({ seen }) => seen.length >= wanted.length)
  }, 'every listener to have everything')
  for (const { seen } of all) expect(seen).toEqual(wanted)
  for (const one of all) one.leave()
}, 60_000)

test('a listener that does not read is dropped with its last number, and resumes from there', async () => {
  const served = await serve({ limits: { bufferedBytesMax: 256 * 1024 } })
  const id = await served.open('big')
  const slow = await listen(served.url)
  const quick = await listen(served.url)
  await until(() => slow.frames.length === 1 && quick.frames.length === 1)
  slow.ws.pause()
  const begin = exchangeOf(served.line.desks).lastSeq()
  let rounds = 0
  while (!served.logged.some(({ message }) => message === 'a slow client was dropped')) {
    await chat(served, id, 1)
    expect((rounds += 1)).toBeLessThan(200)
  }
  slow.ws.resume()
  const { code, reason } = await slow.closed
  expect(code).toBe(1013)
  const lastSent = /last seq (\d+)$/.exec(reason)?.[1]
  expect(eventsOf(slow.frames).at(-1)).toBe(lastSent)
  const wanted = (await readAll(served.line.store, begin, {})).map(({ seq }) => String(seq))
  await until(() => eventsOf(quick.frames).length >= wanted.length)
  expect(eventsOf(quick.frames)).toEqual(wanted)
  const back = await listen(served.url, `?after=${lastSent}`)
  await until(() => eventsOf(back.frames).length + eventsOf(slow.frames).length >= wanted.length)
  expect([...eventsOf(slow.frames), ...eventsOf(back.frames)]).toEqual(wanted)
  for (const one of [quick, back]) await one.close()
}, 60_000)

test('a listener that comes late is given no more than it takes, and gets everything', async () => {
  const served = await serve({ limits: { bufferedBytesMax: 64 * 1024 } })
  const id = await served.open('big')
  await chat(served, id, 20)
  const late = await listen(served.url, '?after=0')
  late.ws.pause()
  await new Promise((resolve) => setTimeout(resolve, 300))
  late.ws.resume()
  const wanted = (await readAll(served.line.store, 0, {})).map(({ seq }) => String(seq))
  await until(() => eventsOf(late.frames).length >= wanted.length)
  expect(eventsOf(late.frames)).toEqual(wanted)
  await late.close()
}, 60_000)
