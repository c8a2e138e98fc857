import { EventEmitter, getEventListeners } from 'node:events'
import { fastify, type FastifyReply } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineRoutes, type App, type Deps, whenGone } from './route.ts'

test('a request that was answered leaves nothing at the signal of the server', () => {
  const closing = new AbortController()
  const raw = Object.assign(new EventEmitter(), { destroyed: false, writableEnded: true })
  const gone = whenGone({ raw } as unknown as FastifyReply, closing.signal)
  expect(getEventListeners(closing.signal, 'abort')).toHaveLength(1)
  raw.emit('close')
  expect([getEventListeners(closing.signal, 'abort').length, gone.aborted]).toEqual([0, false])
})

test('work that would go on after the server stopped leaves nothing at its signal once it is done', async () => {
  const closing = new AbortController()
  const app = fastify()
  onTestFinished(() => app.close())
  app.setSerializerCompiler(() => JSON.stringify)
  app.addHook('onRequest', (request, _reply, done) => {
    request.who = { kind: 'user' }
    done()
  })
  const deps = {
    desks: { as: () => ({}) },
    identity: { mode: 'open', seenIn: () => null },
    closing: closing.signal,
  } as unknown as Deps
  const answers = { 200: z.object({}) }
  const work = { summary: 'works', answers, whenStopping: 'workGoesOn' } as const
  defineRoutes(app as unknown as App, deps, 'tests')('POST', '/work', work, async () => ({ done: true }))
  for (let n = 0; n < 3; n += 1)
    expect((await app.inject({ method: 'POST', url: '/work' })).json()).toEqual({ done: true })
  expect(getEventListeners(closing.signal, 'abort')).toEqual([])
})
