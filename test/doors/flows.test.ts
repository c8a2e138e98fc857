/** Flows and streams of events: what is shown is chosen event by event. */
import { expect, test } from 'vitest'
import type { Actor } from '../kits/doors.ts'
import { stream } from '../kits/feed.ts'
import { listen, until } from '../kits/http.ts'
import { asSession, asTurn, openScene, user, type Scene } from './scene.ts'

const flowOf = ({ turn }: Actor): string => `flow_${turn.slice('turn_'.length)}`

/** The foreign session works in the actor's own flow: it is called, calls, and writes to another. */
async function openSharedFlow(): Promise<Scene> {
  const scene = await openScene()
  const other = await scene.open('target')
  const asked = { agent_id: scene.foreign, message: other }
  expect((await scene.actor.use('call_agent', asked)).value).toMatchObject({ success: true })
  await scene.as(user).sessions.wait(other)
  return scene
}

test('in a flow the steps, calls and letters of a foreign session are filtered one by one', async () => {
  const scene = await openSharedFlow()
  const flow = flowOf(scene.actor)
  const who = asSession(scene.actor.session)
  const seen = [
    await scene.ask(who, 'GET', `/api/flows/${flow}/events`).then(({ text }) => text),
    await scene.ask(who, 'GET', `/api/flows/${flow}`).then(({ text }) => text),
    JSON.stringify(await scene.as(who).log.flowEvents(flow, { limit: 500 })),
    JSON.stringify(await scene.as(who).log.flow(flow)),
  ]
  for (const text of seen) {
    expect(text).toContain(scene.actor.session)
    expect(text).not.toContain('hidden')
  }
  const events = await scene.as(who).log.flowEvents(flow, { limit: 500 })
  expect(new Set(events?.events.map(({ sessionId }) => sessionId))).toEqual(new Set([scene.actor.session]))
  // All of it is there, for the user.
  const all = await scene.ask(user, 'GET', `/api/flows/${flow}/events`)
  expect(all.text).toContain('a hidden part')
  expect((await scene.ask(user, 'GET', `/api/flows/${flow}`)).text).toContain('a hidden letter')
})

test('a flow that began in a foreign session is not there, nor is any for the token of a turn', async () => {
  const { actor, flow, ask, as: desk } = await openScene()
  for (const [who, id] of [
    [asSession(actor.session), flow],
    [asTurn(actor), flow],
    [asTurn(actor), flowOf(actor)],
  ] as const) {
    for (const path of [`/api/flows/${id}`, `/api/flows/${id}/events`]) {
      const { status, body } = await ask(who, 'GET', path)
      expect([path, status, body.error.code]).toEqual([path, 404, 'not_found'])
    }
    expect(await desk(who).log.flow(id)).toBeNull()
    expect(await desk(who).log.flowEvents(id, { limit: 10 })).toBeNull()
  }
})

test('a stream of events, by SSE or WebSocket, has those of its own sessions alone', async () => {
  const scene = await openSharedFlow()
  const who = asSession(scene.actor.session)
  const { url } = scene.served
  const headers = { authorization: `Bearer ${scene.token(who)}` }
  const socket = await listen(url, '?after=0', headers)
  const read = await stream(url, '?after=0', headers)
  const sessions = (): Set<string>[] => [
    new Set(socket.events().map(({ sessionId }) => String(sessionId))),
    new Set([...read.text.matchAll(/"sessionId":"(ses_[^"]+)"/g)].map(([, id]) => String(id))),
  ]
  await until(() => socket.events().some(({ event }) => event?.type === 'call.ended'))
  await until(() => read.text.includes('"call.ended"'))
  await scene.as(user).sessions.send(scene.child, { message: 'hello', delivery: 'auto' })
  await until(() => sessions().every((seen) => seen.has(scene.child)))
  for (const seen of sessions()) expect(seen).toEqual(new Set([scene.actor.session, scene.child]))
  expect(JSON.stringify(socket.frames) + read.text).not.toContain('hidden')
  socket.say({ type: 'subscribe', sessionIds: [scene.foreign], after: '0' })
  await until(() => socket.frames.some(({ error }) => error?.code === 'not_allowed'))
  read.stop()
  await socket.close()
})

test('a session that was adopted by another is not streamed any more', async () => {
  const scene = await openScene()
  const who = asSession(scene.actor.session)
  const { url } = scene.served
  const headers = { authorization: `Bearer ${scene.token(who)}` }
  const socket = await listen(url, '', headers)
  const desk = scene.as(user)
  const tell = async (message: string): Promise<void> => {
    await desk.sessions.send(scene.child, { message, delivery: 'auto' })
    await desk.sessions.wait(scene.child)
  }
  await tell('still below')
  await until(() => JSON.stringify(socket.frames).includes('still below'))
  await desk.sessions.adopt(scene.child, scene.foreign)
  await tell('gone away')
  await desk.sessions.send(scene.actor.session, { message: 'the end', delivery: 'buffer' })
  await until(() => JSON.stringify(socket.frames).includes('the end'))
  expect(JSON.stringify(socket.frames)).not.toContain('gone away')
  await socket.close()
})
