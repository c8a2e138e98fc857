import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { cli, patience, project, start } from '../kits/cli.ts'

vi.setConfig(patience)

test('serve on another address needs the token, which commands of this machine find by themselves', async () => {
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
      /^you calling boss with task: tea\nboss calling helper with task: Now: tea\n[\s\S]*boss returned: SUCCESS/,
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

test('serve says what is wrong with its flags and its port', async () => {
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
