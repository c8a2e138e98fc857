/** Commands beside a running server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test, vi } from 'vitest'
import { cli, json, matchLines, patience, project, start, type Started } from '../kits/cli.ts'

vi.setConfig(patience)

const place = project()
let server: Started
let url = ''
beforeAll(async () => {
  server = start(place.cwd, ['serve', '--json'])
  await server.says('"url"')
  url = (JSON.parse(server.out()) as { url: string }).url
})

test('serve says where it listens, and answers there', async () => {
  expect(JSON.parse(server.out())).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as unknown,
    dataDir: place.data,
    tokenFile: null,
    pid: server.child.pid,
  })
  expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok' })
  expect(JSON.parse(readFileSync(join(place.data, 'server.json'), 'utf8'))).toMatchObject({
    url,
    pid: server.child.pid,
  })
})

test('a second one on the same directory says where the first is', async () => {
  expect(await cli(place.cwd, 'serve')).toMatchObject({
    code: 2,
    err: expect.stringContaining(`already, at ${url}`) as unknown,
  })
})

test('commands use it: run, send, sessions, calls, flow, explain', async () => {
  const { session, flow } = json<{ session: string; flow: string }>(
    await cli(place.cwd, 'run', 'tea', '--json'),
  )
  expect(existsSync(join(place.data, 'server.json'))).toBe(true)
  expect(await cli(place.cwd, 'send', session, 'more')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^\S+ (dispatched|queued) to ses_\d+\n$/) as unknown,
    err: '',
  })
  expect((await cli(place.cwd, 'sessions')).out).toContain(`${session}  boss  `)
  expect((await cli(place.cwd, 'calls', '--limit', '50')).out).toContain('[boss -> helper] OK (')
  const tree = await cli(place.cwd, 'flow', flow)
  expect(tree).toMatchObject({
    code: 0,
    out: expect.stringMatching(/✓ boss +tea[\s\S]*└─✓ helper +Now: tea/) as unknown,
  })
  expect(json(await cli(place.cwd, 'flow', flow, '--json'))).toMatchObject({
    id: flow,
    turns: [{ agent: 'boss', outcome: 'completed' }],
    calls: [{ caller: 'boss', agent: 'helper', output: 'hello 世界' }],
  })
  expect((await cli(place.cwd, 'explain', flow)).out).toBe(
    `Nothing of ${flow} is running or waiting. Everything ended with an answer, and nothing was refused.\n`,
  )
  expect(await cli(place.cwd, 'flow', 'flow_nope')).toMatchObject({
    code: 2,
    err: expect.stringContaining('flow_nope') as unknown,
  })
})

test('replay and export work beside a running server', async () => {
  const { flow } = json<{ flow: string }>(await cli(place.cwd, 'run', 'tea', '--json'))
  expect(await cli(place.cwd, 'replay', flow)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/Equal: \d+ events of 2 turns\. Hash [0-9a-f]{64}/) as unknown,
  })
  const exported = await cli(place.cwd, 'export', flow)
  expect(JSON.parse(exported.out.split('\n')[0] ?? '')).toMatchObject({ tieline: 'log', of: flow })
  expect(await cli(place.cwd, 'replay', 'flow_nope')).toMatchObject({ code: 2 })
})

test('explain says who waits for whom while it happens', async () => {
  const waiting = start(place.cwd, ['run', 'wait', '--timeout', '30'])
  await waiting.says('boss calling helper')
  const { call } = json<{ call: string; outcome: null }[]>(await cli(place.cwd, 'calls', '--json')).find(
    ({ outcome }) => outcome === null,
  ) ?? { call: '' }
  expect((await cli(place.cwd, 'explain', call)).out).toMatch(
    matchLines(
      /helper has begun and recorded nothing yet: it waits for its model or driver .*/,
      /Waiting:/,
      / {2}boss \(turn_\d+\) waits for helper \(call_\d+\) for [\d.]+ s, deadline in .*: "Now: wait"/,
      /Working:/,
      / {2}helper/,
    ),
  )
  waiting.child.kill('SIGINT')
  expect(await waiting.ended).toMatchObject({ code: 130 })
})

test('tail follows events, from the beginning or from now on, and Ctrl-C is how it ends', async () => {
  const all = start(place.cwd, ['tail', '--after', '0', '--json'])
  await all.says('"turn.ended"')
  const now = start(place.cwd, ['tail'])
  await expect
    .poll(
      async () => {
        await cli(place.cwd, 'run', 'tea', '--quiet')
        return now.out()
      },
      { timeout: 40_000 },
    )
    .toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}boss {2}was told by user: tea$[^]* boss {2}is done/m)
  expect(now.out()).toMatch(/ boss {2}calls helper \(call_\d+\): Now: tea$/m)
  for (const tailing of [all, now]) tailing.child.kill('SIGINT')
  expect([(await all.ended).code, (await now.ended).code]).toEqual([0, 0])
  const seqs = (await all.ended).out
    .trim()
    .split('\n')
    .map((line) => Number((JSON.parse(line) as { seq: string }).seq))
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
})

test('tail ends when its reader has gone, though nothing more happens', async () => {
  await cli(place.cwd, 'run', 'tea', '--quiet')
  const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
  const piped = spawn('sh', ['-c', `"${process.execPath}" "${main}" tail --after 0 --json | head -1`], {
    cwd: place.cwd,
    env: { ...process.env, HOME: place.cwd, XDG_CONFIG_HOME: join(place.cwd, 'xdg') },
  })
  let said = ''
  piped.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  expect(await once(piped, 'close')).toEqual([0, null])
  expect(JSON.parse(said)).toMatchObject({ seq: '1' })
})

test('a server can be named by its address, and a wrong address is reported', async () => {
  const elsewhere = project()
  const below = join(place.cwd, 'below')
  mkdirSync(below)
  expect(await cli(below, 'call', 'helper', 'x', '--server', url, '--quiet')).toMatchObject({
    code: 0,
    out: 'hello 世界\n',
  })
  // Its own project counts there, and the user of that server has not agreed to it.
  expect(await cli(elsewhere.cwd, 'call', 'helper', 'x', '--server', url)).toMatchObject({
    code: 1,
    err: expect.stringContaining(elsewhere.cwd) as unknown,
  })
  expect(existsSync(elsewhere.data)).toBe(false)
  expect(await cli(elsewhere.cwd, 'calls', '--server', 'http://127.0.0.1:9')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/no Tieline server answers at .*:9: .*"tieline doctor" looks/) as unknown,
  })
  expect(await cli(elsewhere.cwd, 'calls', '--server', 'here')).toMatchObject({
    code: 2,
    err: expect.stringContaining('a URL such as') as unknown,
  })
})

test('what needs the log to itself says what to do', async () => {
  expect(await cli(place.cwd, 'rebuild')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/a server runs on .* needs the log to itself\./) as unknown,
  })
})
