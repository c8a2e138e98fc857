/**
 * Ending what others began: `tieline cancel`, and what a command says that waits for a turn which is not its
 * own.
 */
import { describe, expect, test, vi } from 'vitest'
import { describeWait } from '../../src/cli/reach/own-server.ts'
import { cli, json, patience, project, start, type Started } from '../kits/cli.ts'

vi.setConfig(patience)

type Listed = { call: string; flow: string; outcome: string | null }

async function hanging(cwd: string): Promise<Started & { call: string; flow: string }> {
  const running = start(cwd, ['run', 'wait', '--json'])
  const found = await vi.waitFor(
    async () => {
      const open = json<Listed[]>(await cli(cwd, 'calls', '--json')).find(({ outcome }) => outcome === null)
      expect(open).toBeDefined()
      return open ?? { call: '', flow: '' }
    },
    { timeout: 60_000, interval: 100 },
  )
  return { ...running, ...found }
}

describe('cancel', () => {
  test('ends a call, after which its caller goes on; a flow; and the turn of a session', async () => {
    const { cwd } = project()
    const server = start(cwd, ['serve'])
    await server.says('listens on')
    const first = await hanging(cwd)
    expect(await cli(cwd, 'cancel', first.call)).toEqual({
      code: 0,
      out: `Cancelled: one turn of ${first.call}, and everything below.\n`,
      err: '',
    })
    const answer = json<{ outcome: string; session: string; calls: object[] }>(await first.ended)
    expect(answer).toMatchObject({
      outcome: 'completed',
      output: 'helper said ',
      calls: [{ agent: 'helper', outcome: 'cancelled' }],
    })
    expect(await cli(cwd, 'cancel', first.call)).toEqual({
      code: 1,
      out: '',
      err: `tieline: nothing runs in ${first.call}; it has ended, or has not begun.\n`,
    })
    const second = await hanging(cwd)
    expect(json(await cli(cwd, 'cancel', second.flow, '--json'))).toEqual({ id: second.flow, cancelled: 1 })
    expect(json(await second.ended)).toMatchObject({
      outcome: 'cancelled',
      calls: [{ outcome: 'cancelled' }],
    })
    await hanging(cwd)
    const { id = '' } =
      json<{ id: string; active: boolean }[]>(await cli(cwd, 'sessions', '--json')).find(
        ({ active }) => active,
      ) ?? {}
    expect(await cli(cwd, 'cancel', id, '--quiet')).toEqual({ code: 0, out: '', err: '' })
    expect(await cli(cwd, 'cancel', 'ses_nope')).toMatchObject({
      code: 1,
      err: expect.stringContaining('ses_nope') as unknown,
    })
    server.child.kill('SIGINT')
    await server.ended
  })

  test('a call that waits behind another one of its session is ended alone', async () => {
    const { cwd } = project()
    const server = start(cwd, ['serve', '--json'])
    await server.says('"url"')
    const { url } = JSON.parse(server.out()) as { url: string }
    const post = async (path: string, body: object): Promise<Record<string, string>> =>
      (await (await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })).json()) as Record<
        string,
        string
      >
    const { sessionId = '' } = await post('/api/sessions', { cwd, agent: 'helper' })
    const [, second] = [
      await post(`/api/sessions/${sessionId}/messages`, { message: 'wait' }),
      await post(`/api/sessions/${sessionId}/messages`, { message: 'wait too' }),
    ]
    expect(await cli(cwd, 'cancel', second['flow'] ?? '')).toMatchObject({ code: 0 })
    expect(await (await fetch(`${url}/api/sessions/${sessionId}/state`)).json()).toMatchObject({
      status: 'streaming',
      queued: 0,
    })
    server.child.kill('SIGINT')
    await server.ended
  })
})

describe('a command that must wait for a turn of another one', () => {
  test('names the agent, its session, its deadline, and how to end it', async () => {
    const { cwd } = project({
      agents: {
        slow: { driver: 'scripted', script: [{ when: { task: 'wait' }, hang: true }, { say: 'done' }] },
      },
    })
    const owner = start(cwd, ['run', 'wait'])
    const { id } = await vi.waitFor(
      async () => {
        const [session] = json<{ id: string; active: boolean }[]>(await cli(cwd, 'sessions', '--json'))
        expect(session?.active).toBe(true)
        return session ?? { id: '' }
      },
      { timeout: 60_000, interval: 100 },
    )
    owner.child.kill('SIGKILL')
    await owner.ended
    const next = start(cwd, ['run', 'tea'])
    await next.says('waits for it')
    expect(next.err()).toMatch(
      new RegExp(
        `slow still works in ${id} \\(\\d+m left\\), begun by another command or left by an earlier one` +
          `.*Ctrl-C leaves it.*"tieline cancel ${id}" ends it`,
      ),
    )
    expect(await cli(cwd, 'cancel', id)).toMatchObject({ code: 0 })
    expect(await next.ended).toMatchObject({ code: 0, out: 'done\n' })
  })

  test('says how many there are where none can be named', () =>
    expect(describeWait([], 2)).toMatch(/^2 turns still run,/))
})
