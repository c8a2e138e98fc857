/**
 * A server whose disk fills up while it works: what each door says meanwhile, and that everything goes on
 * afterwards.
 */
import { join } from 'node:path'
import WebSocket from 'ws'
import { expect, onTestFinished, test } from 'vitest'
import { tielineClient } from '../../src/client/client.ts'
import { runChecks } from '../../src/cli/setup/doctor-checks.ts'
import { openServer } from '../../src/open-server.ts'
import { askAt, until, type Answer } from '../kits/http.ts'
import { hasSmallDisks, smallDisk } from '../kits/small-disk.ts'

const patience = 60_000
const large = 'x'.repeat(90_000)

async function site() {
  const disk = smallDisk(6)
  const told: string[] = []
  const steps: string[] = []
  let letGo = (): void => undefined
  const held = new Promise<void>((resolve) => (letGo = resolve))
  const served = await openServer({
    dataDir: join(disk.path, 'data'),
    cwd: disk.path,
    port: 0,
    limitsOfHttp: { requestsPerMinute: 1_000_000 },
    onWarning: (text) => told.push(text),
    agents: {
      echo: { description: 'says it again', script: ({ task }) => `echo: ${task.slice(0, 20)}` },
      worker: {
        tools: ['write'],
        async script(turn) {
          steps.push('begun')
          if (steps.length === 1) await held
          // Its result is announced before it runs, so this is where a full disk is met.
          await turn.tool('write', { path: 'note.txt', content: 'a note' })
          steps.push('written')
          return 'done'
        },
      },
    },
  })
  disk.atEnd(() => served.close())
  const ask = (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => askAt(served.url, method, path, body, headers)
  return { disk, served, told, steps, letGo, ask, client: tielineClient({ url: served.url }) }
}

type Site = Awaited<ReturnType<typeof site>>

/** The disk is full to the last byte, and the server has noticed. */
async function fillUp({ disk, ask }: Site, session: string): Promise<Answer> {
  disk.fill()
  let answer = await ask('POST', `/api/sessions/${session}/messages`, { message: large })
  for (let n = 0; n < 100 && answer.status !== 503; n += 1)
    answer = await ask('POST', `/api/sessions/${session}/messages`, { message: large })
  return answer
}

test.skipIf(!hasSmallDisks)(
  'on a full disk writes said "500 bug" and /health said ok: they say store_unavailable, and it goes on by itself',
  async () => {
    const here = await site()
    const { disk, served, told, ask, client } = here
    const { sessionId } = (await ask('POST', '/api/sessions', { cwd: disk.path, agent: 'echo' })).body as {
      sessionId: string
    }
    expect((await ask('GET', '/health')).body).toMatchObject({ status: 'ok', store: { status: 'ok' } })
    const refused = await fillUp(here, sessionId)
    expect([refused.status, refused.body.error.code]).toEqual([503, 'store_unavailable'])
    expect(refused.headers.get('retry-after')).toMatch(/^[1-5]$/)
    expect(refused.body.error.message).toMatch(
      /the disk is full \(.*tieline\.db, 0\.\d MB free\)\. Free some space on it\./,
    )
    const health = await ask('GET', '/health')
    expect([health.status, health.body]).toMatchObject([
      503,
      {
        status: 'unavailable',
        store: {
          status: 'unavailable',
          reason: 'the disk is full',
          cure: expect.stringContaining('Free some space'),
        },
      },
    ])
    expect(health.text).not.toContain(disk.path)
    expect((await ask('GET', '/metrics')).text).toContain('tieline_store_available 0\n')
    expect(await client.health()).toMatchObject({ status: 'unavailable' })
    // Reading goes on.
    expect((await ask('GET', `/api/sessions/${sessionId}`)).status).toBe(200)
    expect((await ask('GET', '/api/sessions')).status).toBe(200)
    await everyDoorSays(here)
    const surroundings = { cwd: disk.path, home: disk.path, env: {} } as Parameters<typeof runChecks>[1]
    const found = await runChecks(
      { flags: { 'data-dir': served.dataDir }, env: {}, signal: new AbortController().signal },
      surroundings,
    )
    const log = found.find(({ what }) => what === 'log')
    expect(log).toMatchObject({
      state: 'problem',
      says: expect.stringContaining('the disk is full'),
      todo: expect.stringContaining('Free some space'),
    })
    disk.empty()
    await until(async () => (await ask('GET', '/health')).status === 200, 'the store opens again')
    expect((await ask('GET', '/metrics')).text).toContain('tieline_store_available 1\n')
    expect(
      (await ask('POST', `/api/sessions/${sessionId}/messages`, { message: 'again' })).status,
    ).toBeLessThan(300)
    expect(told.map((text) => text.replaceAll(/\(.*?\)/g, '()').slice(0, 50))).toEqual([
      'Nothing can be recorded now: the disk is full (). ',
      'the log can be written again; what was under way g',
    ])
  },
  patience,
)

async function everyDoorSays({ ask, served, disk }: Site): Promise<void> {
  const code = (answer: Answer): unknown[] => [answer.status, answer.body.error.code]
  expect(code(await ask('POST', '/api/sessions', { cwd: disk.path, agent: 'echo' }))).toEqual([
    503,
    'store_unavailable',
  ])
  expect(code(await ask('POST', '/api/calls', { agent: 'echo', task: 'x' }))).toEqual([
    503,
    'store_unavailable',
  ])
  expect(code(await ask('POST', '/v1/agents', { name: 'made' }))).toEqual([503, 'store_unavailable'])
  const use = { name: 'call_agent', arguments: { agent_id: 'echo', message: 'x' } }
  const accept = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' }
  const mcp = await ask('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: use }, accept)
  expect(mcp.text).toContain('the disk is full')
  expect(mcp.text).toContain('"outcome":"refused"')
  const ws = new WebSocket(`${served.url.replace('http', 'ws')}/ws/host`)
  onTestFinished(() => ws.terminate())
  const frames: string[] = []
  ws.on('message', (data) => frames.push((data as Buffer).toString()))
  ws.on('open', () =>
    ws.send(
      JSON.stringify({
        type: 'hello',
        agent: 'mine',
        description: '',
        sessions: [{ id: 'a', title: 't', cwd: disk.path }],
      }),
    ),
  )
  const closed = new Promise<number>((resolve) => ws.on('close', resolve))
  expect(await closed).toBe(1013)
  expect(frames.join('')).toContain('store_unavailable')
  // The library's own way in.
  expect(await served.line.run('echo', 'x')).toMatchObject({
    success: false,
    outcome: 'refused',
    refusal: { code: 'store_unavailable' },
  })
}

test.skipIf(!hasSmallDisks)(
  'a turn whose commit failed ends its activation and is taken up again from the log, once',
  async () => {
    const here = await site()
    const { disk, served, steps, letGo, ask } = here
    const { sessionId } = (await ask('POST', '/api/sessions', { cwd: disk.path, agent: 'echo' })).body as {
      sessionId: string
    }
    const run = served.line.run('worker', 'write it', { cwd: disk.path })
    await until(() => steps.length === 1, 'the turn runs')
    await fillUp(here, sessionId)
    letGo()
    await until(() => served.line.running() === 0, 'its activation has ended')
    expect(steps).toEqual(['begun'])
    disk.empty()
    expect(await run).toMatchObject({ outcome: 'completed', output: 'done' })
    expect(steps).toEqual(['begun', 'begun', 'written'])
    const flow = (await served.line.log.events((await run).flow ?? '')).map(({ event }) => event.type)
    expect(flow).toEqual([
      'message.sent',
      'turn.started',
      'session.claimed',
      'step.started',
      'step.ended',
      'turn.ended',
    ])
  },
  patience,
)

test.skipIf(!hasSmallDisks)(
  'a call outlasts a disk that was full for a while: its client gets the answer',
  async () => {
    const here = await site()
    const { disk, steps, letGo, ask } = here
    const { sessionId } = (await ask('POST', '/api/sessions', { cwd: disk.path, agent: 'echo' })).body as {
      sessionId: string
    }
    const calling = ask('POST', '/api/calls', { agent: 'worker', task: 'x' })
    await until(() => steps.length === 1, 'the call runs')
    await fillUp(here, sessionId)
    letGo()
    disk.empty()
    const answer = await calling
    expect([answer.status, answer.body.outcome]).toEqual([200, 'completed'])
  },
  patience,
)

test.skipIf(!hasSmallDisks)(
  'a client whose call could not be recorded is told so at once, and not when the disk works again',
  async () => {
    const { disk, served, ask } = await site()
    served.line.store.onHint((hints) => {
      // Between the turn of the client and its call.
      if (
        hints.some(
          (hint) => hint.kind === 'appended' && hint.events?.some((event) => event.type === 'turn.started'),
        )
      )
        disk.fill()
    })
    const answer = await ask('POST', '/api/calls', { agent: 'echo', task: large })
    expect([answer.status, answer.body.error?.code]).toEqual([503, 'store_unavailable'])
    disk.empty()
    await until(async () => (await ask('GET', '/health')).status === 200, 'the store opens again')
  },
  patience,
)
