import { EventEmitter, getEventListeners } from 'node:events'
import type { FastifyReply } from 'fastify'
import { expect, test } from 'vitest'
import { whenGone } from './route.ts'

test('a request that was answered leaves nothing at the signal of the server', () => {
  const closing = new AbortController()
  const raw = Object.assign(new EventEmitter(), { destroyed: false, writableEnded: true })
  const gone = whenGone({ raw } as unknown as FastifyReply, closing.signal)
  expect(getEventListeners(closing.signal, 'abort')).toHaveLength(1)
  raw.emit('close')
  expect([getEventListeners(closing.signal, 'abort').length, gone.aborted]).toEqual([0, false])
})
