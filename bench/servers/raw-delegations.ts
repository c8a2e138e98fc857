/**
 * The lower bound for a durable delegation over HTTP: a `node:http` server that writes as many events and
 * bytes as Tieline, waits for the disk as often, and answers with as many bytes.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createBareAppend } from '../bare-append.ts'
import { spreadOver } from '../round.ts'
import type { BenchServer } from '../server-process.ts'
import { plannerAnswer, createScratch } from '../work.ts'

/** The parent process measures these with Tieline in the same run. */
const [events = NaN, eventBytes = NaN, waits = NaN, answerBytes = NaN] = [
  'BENCH_EVENTS',
  'BENCH_EVENT_BYTES',
  'BENCH_WAITS',
  'BENCH_ANSWER_BYTES',
].map((name) => Number(process.env[name]))

export async function start(): Promise<BenchServer> {
  const { data, remove } = createScratch()
  const { append, commits, close } = createBareAppend(data, eventBytes)
  const eventsPerWait = spreadOver(events, waits)
  const padding = 'x'.repeat(Math.max(0, answerBytes - plannerAnswer.length - 30))
  const server = createServer((request, response) => {
    let text = ''
    request
      .setEncoding('utf8')
      .on('data', (chunk: string) => (text += chunk))
      .on('end', () => void answer().catch((error: unknown) => response.destroy(error as Error)))
    const answer = async (): Promise<void> => {
      const { messages } = JSON.parse(text) as { messages: unknown[] }
      for (const count of eventsPerWait) await append(count)
      const body = JSON.stringify({ content: plannerAnswer, asked: messages.length, padding })
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        .end(body)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    commits,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      close()
      remove()
    },
  }
}
