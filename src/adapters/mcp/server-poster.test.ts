import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createPoster } from './server-poster.ts'

const never = new AbortController().signal

/** A server whose answers wait until they are given, and how often it was looked for. */
async function listen() {
  const asked: ServerResponse[] = []
  const server = createServer((_request, response) => void asked.push(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const place = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: null }
  let looks = 0
  const poster = createPoster({ version: '1', server: async () => ((looks += 1), place) })
  return { server, asked, poster, looks: () => looks }
}

test('a request that was cancelled says nothing of where the server is', async () => {
  const { server, asked, poster, looks } = await listen()
  const stop = new AbortController()
  const came = once(server, 'request')
  const cancelled = poster.send('{}', {}, stop.signal)
  await came
  stop.abort(new Error('no more'))
  await expect(cancelled).rejects.toThrow('no more')
  const next = poster.send('{}', {}, never)
  await expect.poll(() => asked.length).toBe(2)
  asked[1]?.end('answer')
  expect([await (await next).text(), looks()]).toEqual(['answer', 1])
})

test('a connection that broke makes it look for the server again', async () => {
  const { server, asked, poster, looks } = await listen()
  const came = once(server, 'request')
  const broken = poster.send('{}', {}, never)
  await came
  asked[0]?.destroy()
  await expect(broken).rejects.toThrow('fetch failed')
  const next = poster.send('{}', {}, never)
  await expect.poll(() => asked.length).toBe(2)
  asked[1]?.end('answer')
  expect([await (await next).text(), looks()]).toEqual(['answer', 2])
})
