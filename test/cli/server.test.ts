import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { cli, json, patience, project, start, type Started } from '../kits/cli.ts'

vi.setConfig(patience)

describe('with a server that runs', () => {
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

  test('explain says who waits for whom while it happens', async () => {
    const waiting = start(place.cwd, ['run', 'wait', '--timeout', '30'])
    await waiting.says('boss calling helper')
    const { call } = json<{ call: string; outcome: null }[]>(await cli(place.cwd, 'calls', '--json')).find(
      ({ outcome }) => outcome === null,
    ) ?? { call: '' }
    expect((await cli(place.cwd, 'explain', call)).out).toMatch(
      /Waiting:\n {2}boss waits for helper \(call_\d+\) for [\d.]+s, deadline in .*: Now: wait\nWorking, or standing still:\n {2}helper/,
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
      env: { ...process.env, HOME: place.cwd },
    })
    let said = ''
    piped.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
    expect(await once(piped, 'close')).toEqual([0, null])
    expect(JSON.parse(said)).toMatchObject({ seq: '1' })
  })

  test('it can be named by its address, and a wrong one is told', async () => {
    const elsewhere = project()
    expect(await cli(elsewhere.cwd, 'call', 'helper', 'x', '--server', url, '--quiet')).toMatchObject({
      code: 0,
      out: 'hello 世界\n',
    })
    expect(existsSync(elsewhere.data)).toBe(false)
    expect(await cli(elsewhere.cwd, 'calls', '--server', 'http://127.0.0.1:9')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no Tieline server answers at http://127.0.0.1:9') as unknown,
    })
    expect(await cli(elsewhere.cwd, 'calls', '--server', 'here')).toMatchObject({
      code: 2,
      err: expect.stringContaining('a URL such as') as unknown,
    })
  })

  test('what needs the log to itself says what to do', async () => {
    for (const args of [['replay', 'flow_1'], ['export']])
      expect(await cli(place.cwd, ...args)).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringMatching(
          /a server runs on .* needs the log to itself\. End the server first/,
        ) as unknown,
      })
  })

  test('doctor sees it', async () => {
    const { healthy, findings } = json<{ healthy: boolean; findings: { what: string; says: string }[] }>(
      await cli(place.cwd, 'doctor', '--json'),
    )
    expect(healthy).toBe(true)
    expect(findings.find(({ what }) => what === 'port')?.says).toContain(`our server answers at ${url}`)
  })

  test('Ctrl-C ends it cleanly, and its address is gone', async () => {
    server.child.kill('SIGINT')
    expect((await server.ended).code).toBe(0)
    expect(existsSync(join(place.data, 'server.json'))).toBe(false)
  })
})

describe('serve', () => {
  test('on another address needs the token, which commands of this machine find by themselves', async () => {
    const { cwd, data } = project({ server: { dataDir: './data', port: 0, auth: 'on' } })
    const server = start(cwd, ['serve'])
    await server.says(`with the token in ${join(data, 'token')}`)
    expect(await cli(cwd, 'run', 'tea', '--quiet')).toMatchObject({
      code: 0,
      out: 'helper said hello 世界\n',
    })
    expect(await cli(cwd, 'call', 'helper', 'x', '--quiet')).toMatchObject({ code: 0, out: 'hello 世界\n' })
    // The calls below are shown, and work where the user is.
    const folder = mkdtempSync(join(cwd, 'folder-'))
    expect(await cli(cwd, 'call', 'boss', 'tea', '--cwd', folder)).toMatchObject({
      code: 0,
      err: expect.stringMatching(
        /^external calling boss with task: tea\nboss calling helper with task: Now: tea\n[\s\S]*boss returned: SUCCESS/,
      ) as unknown,
    })
    const { url } = JSON.parse(readFileSync(join(data, 'server.json'), 'utf8')) as { url: string }
    const listed = await fetch(`${url}/api/sessions?archived=true`, {
      headers: { authorization: `Bearer ${readFileSync(join(data, 'token'), 'utf8').trim()}` },
    })
    expect(((await listed.json()) as { sessions: { cwd: string; kind: string }[] }).sessions).toContainEqual(
      expect.objectContaining({ cwd: folder, kind: 'external' }),
    )
    expect(await cli(project().cwd, 'sessions', '--server', url)).toMatchObject({
      code: 1,
      err: expect.stringContaining('Set TIELINE_TOKEN') as unknown,
    })
    expect(
      await start(project().cwd, ['sessions', '--server', url], {
        TIELINE_TOKEN: readFileSync(join(data, 'token'), 'utf8').trim(),
      }).ended,
    ).toMatchObject({ code: 0 })
    server.child.kill('SIGINT')
    expect((await server.ended).code).toBe(0)
  })

  test('says what is wrong with its flags and its port', async () => {
    const { cwd } = project()
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const taken = String((other.address() as AddressInfo).port)
    expect(await cli(cwd, 'serve', '--port', taken)).toMatchObject({
      code: 2,
      err: expect.stringContaining(`port ${taken} of 127.0.0.1 is taken by another program`) as unknown,
    })
    expect(await cli(cwd, 'serve', '--port', '99999')).toMatchObject({
      code: 2,
      err: expect.stringContaining('a port from 0 to 65535') as unknown,
    })
    expect(await cli(cwd, 'serve', '--log-level', 'loud')).toMatchObject({
      code: 2,
      err: expect.stringContaining('one of debug, info, warn, error, silent') as unknown,
    })
    const tieline = start(project().cwd, ['serve', '--json'])
    await tieline.says('"url"')
    const { port } = new URL((JSON.parse(tieline.out()) as { url: string }).url)
    expect(await cli(cwd, 'serve', '--port', port)).toMatchObject({
      code: 2,
      err: expect.stringContaining('is taken by another Tieline server (version ') as unknown,
    })
    tieline.child.kill('SIGINT')
    await tieline.ended
    // Others need a server, not this port.
    expect(await start(cwd, ['run', 'tea', '--quiet'], { TIELINE_PORT: taken }).ended).toMatchObject({
      code: 0,
      out: 'helper said hello 世界\n',
      err: '',
    })
    other.close()
  })
})
