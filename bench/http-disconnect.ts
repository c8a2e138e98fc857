/** How long it takes until the model request of a callee is aborted after its blocking caller has disconnected. */
import { fakeModel, type FakeModel } from '../test/kits/fake-model.ts'
import type { Progress } from './progress.ts'
import { formatNumber, requireAtMost, type Part } from './report.ts'
import { median } from './round.ts'
import { startRival } from './server-rival.ts'
import { connectClient } from './wire-client.ts'

const tries = 10
const abortMsMax = 50

export async function httpDisconnect(progress: Progress): Promise<Part> {
  progress.part('http-disconnect', tries * 2)
  const model = await fakeModel([
    {
      when: { system: 'boss' },
      tools: [
        {
          name: 'sub_agent',
          input: { agent_name: 'worker', task: 'Do your part.', allow_nested_calls: false },
        },
      ],
    },
    { when: { system: 'worker' }, hang: 'middle', text: 'This is said, and then nothing more comes.' },
  ])
  const server = await startRival('tieline-calls', { BENCH_MODEL_URL: model.url })
  const taken: Record<'worker' | 'boss', number[]> = { worker: [], boss: [] }
  try {
    // The first request loads the provider and is not counted.
    await measureAbortMs(server.url, model, 'worker')
    for (let n = 0; n < tries; n += 1) {
      for (const agent of ['worker', 'boss'] as const) {
        const ms = await measureAbortMs(server.url, model, agent)
        taken[agent].push(ms)
        progress.step(`${agent}: ${formatNumber(ms)} ms`)
      }
    }
  } finally {
    await server.end()
    await model.close()
  }
  const row = (title: string, list: readonly number[]): string[] => [
    title,
    formatNumber(median(list)),
    formatNumber(Math.max(...list)),
  ]
  return {
    name: 'http-disconnect',
    notes: [
      [
        'From the moment the caller drops its connection to the moment the model sees its own connection drop.',
        'Both ends are in one process and share a clock.',
      ].join(' '),
    ],
    tables: [
      {
        title: `A caller of POST /api/calls goes away (${tries} times)`,
        columns: ['', 'median ms', 'max ms'],
        rows: [
          row('the agent that it called asks a model', taken.worker),
          row('that agent waits for another, which asks a model', taken.boss),
        ],
      },
    ],
    checks: [
      requireAtMost(
        'a caller that goes away: the request below is aborted after',
        Math.max(...taken.worker, ...taken.boss),
        abortMsMax,
        ' ms',
      ),
    ],
  }
}

async function measureAbortMs(url: string, model: FakeModel, agent: 'worker' | 'boss'): Promise<number> {
  const asked = (): number => model.requests.filter(({ system }) => system.includes('worker')).length
  const before = asked()
  const client = await connectClient(url)
  const answer = client
    .post(
      '/api/calls',
      JSON.stringify({ agent, task: `Do it, as number ${before}.`, allow_nested_calls: true }),
    )
    .then(
      ({ body }) => Promise.reject(new Error(`it was answered: ${body}`)),
      () => undefined,
    )
  while (asked() === before) await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 5))])
  const from = performance.now()
  client.destroy()
  await model.settled()
  const ms = performance.now() - from
  await answer
  return ms
}
