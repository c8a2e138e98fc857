/**
 * Providers that send without end: the request is given up at a bound, with a typed fault, long before the
 * memory is full.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { countWords, memorySteps, testClock, turnInput } from '../../../test/kits/turns.ts'
import { modelDriver } from './drive.ts'
import { providerModels, Providers } from './providers.ts'

const kinds = ['openai-compatible', 'openai', 'anthropic', 'google'] as const
const wouldBeBytes = 300 * 1024 * 1024
const piece = Buffer.alloc(256 * 1024, 'x')

let close: () => void = () => undefined
afterEach(() => close())

/** Sends a beginning, then pieces for as long as somebody takes them; says how many bytes it got rid of. */
async function floodingServer(
  type: string,
  status: number,
  beginning: string,
): Promise<{ url: string; sent: () => number; requests: () => number }> {
  let [sent, requests] = [0, 0]
  const flood = (response: ServerResponse): void => {
    while (sent < wouldBeBytes && !response.destroyed) {
      sent += piece.length
      if (!response.write(piece)) return void response.once('drain', () => flood(response))
    }
  }
  const server = createServer((_request, response) => {
    requests += 1
    response.writeHead(status, { 'content-type': type })
    response.write(beginning)
    flood(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => {
    server.closeAllConnections()
    server.close()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: () => sent,
    requests: () => requests,
  }
}

test.each(
  kinds.flatMap(
    (kind) =>
      [
        ['one line of 300 MB', kind, 'text/event-stream', 'data: {"x":"'],
        ['a body of 300 MB', kind, 'application/json', '{"x":"'],
      ] as const,
  ),
)(
  '%s from a provider of the kind %s is given up after a few megabytes, as garbage',
  async (_name, kind, type, beginning) => {
    const flooding = await floodingServer(type, 200, beginning)
    const models = providerModels(Providers.parse({ p: { kind, baseURL: flooding.url, apiKeyEnv: 'KEY' } }), {
      KEY: 'sk-test-0123456789abcdef',
    })
    const driver = modelDriver({
      model: models.model,
      redact: models.redact,
      clock: testClock(),
      count: countWords,
    })
    const never = new AbortController().signal
    const outcome = await driver.run(turnInput({ model: 'p/fake' }), memorySteps({ signal: never }), never)
    expect(outcome).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(/^provider_garbage: .*more than 524288 bytes/) as string,
    })
    // What is in the kernel's buffers and ours on the way is all that was sent beyond the bound.
    expect(flooding.sent()).toBeLessThan(60 * 1024 * 1024)
    expect(flooding.requests()).toBe(1)
  },
)
