/** What only AgentFS databases have: its own log of tools, captured changes, and a package to install. */
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test, vi } from 'vitest'
import { mailView } from '../../src/views/mail-view.ts'
import { mailWorld, user } from '../kits/mail.ts'
import { correspondence, mailDesk } from '../kits/mail-views.ts'

// A new database takes AgentFS a tenth of a second, and a busy machine much longer.
vi.setConfig({ testTimeout: 120_000 })

test('uses of tools are in the log of AgentFS, calls too; nothing where tracing is off', async () => {
  const w = await mailWorld()
  const [a, b] = [await w.open('planner'), await w.open('coder')]
  const desk = mailDesk(w)
  const view = await desk.view()
  for (const session of [a, b])
    await w.ok(w.exchange.mail.send(user, { session, message: 'hello' }, null, null))
  await w.use(b, 'buffer', {})
  await w.use(a, 'call_agent', { agent_id: 'coder', message: 'help' })
  await view.settled()
  await view.close()
  expect((await desk.inDatabase(b)).tools).toMatchObject([
    {
      id: 1,
      name: 'buffer',
      status: 'success',
      parameters: {},
      result: { total: 1 },
      started_at: Math.floor(w.clock.now() / 1000),
    },
  ])
  const { tools } = await desk.inDatabase(a)
  expect(tools).toMatchObject([
    {
      name: 'call_agent',
      status: 'success',
      parameters: {
        agent: 'coder',
        session: expect.stringMatching(/^ses_/) as string,
        task: 'help',
        input: null,
      },
      result: 'did help',
    },
  ])
  await desk.once({ tracing: false })
  expect((await desk.inDatabase(a)).tools).toEqual([])
  // Switched on again, those from before are there too.
  await desk.once()
  expect((await desk.inDatabase(a)).tools).toEqual(tools)
})

test('a tool that has begun and not ended has a pending row, and the same row when it has', async () => {
  const w = await mailWorld()
  const desk = mailDesk(w)
  const { sessionId } = await w.ok(
    w.exchange.createSession(user, {
      cwd: tmpdir(),
      agent: 'external',
      model: null,
      title: '',
      parent: null,
      initialMessage: null,
      id: null,
      trace: null,
    }),
  )
  await w.ok(w.exchange.mail.send(user, { session: sessionId, message: 'hello', id: 'one' }, null, null))
  const use = { key: 'k1', tool: 'bash', input: { command: 'ls' } }
  await w.ok(w.exchange.traceTool(sessionId, { ...use, ended: null }))
  await desk.once()
  expect((await desk.inDatabase(sessionId)).tools).toMatchObject([
    { id: 1, name: 'bash', status: 'pending', parameters: { command: 'ls' } },
  ])
  await w.ok(
    w.exchange.traceTool(sessionId, {
      ...use,
      ended: { ok: false, output: 'no such command', startedAt: w.clock.now() },
    }),
  )
  await desk.once()
  const seen = await desk.inDatabase(sessionId)
  expect(seen.tools).toMatchObject([
    { id: 1, name: 'bash', status: 'error', error: 'no such command', parameters: { command: 'ls' } },
  ])
  rmSync(desk.directory, { recursive: true })
  await desk.once()
  expect(await desk.inDatabase(sessionId)).toEqual(seen)
})

test('changes are captured, unless that is switched off', async () => {
  const { b, directory, once, inDatabase } = await correspondence()
  await once()
  expect(await inDatabase(b)).toMatchObject({ captured: true })
  rmSync(directory, { recursive: true })
  await once({ cdc: false })
  expect(await inDatabase(b)).toMatchObject({ captured: false })
})

test('without the package there is no view, and it is said what to install', async () => {
  const { deps, warnings } = await correspondence()
  expect(await mailView(deps({ sdk: 'agentfs-sdk-that-is-not-there' }))).toBeNull()
  expect(warnings).toEqual([expect.stringContaining('npm install agentfs-sdk')])
})
