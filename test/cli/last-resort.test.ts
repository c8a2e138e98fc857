/**
 * A fault that nobody caught ends a server cleanly: the cause is logged, clients are told, the directory is
 * free, and the exit code is not 0.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import WebSocket from 'ws'
import { cli, json, patience, project, start } from '../kits/cli.ts'

vi.setConfig(patience)

/** Runs before the program, and breaks it from outside at a signal. */
const breaking = (how: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=data:text/javascript,process.on('SIGUSR2',()=>{${encodeURIComponent(how)}})`,
})

test('the demo too is a server while it works: a fault that nobody caught ends it cleanly', async () => {
  const demo = start(project().cwd, ['demo'], breaking("throw new Error('broken on purpose')"))
  await demo.says('Three agents build')
  demo.child.kill('SIGUSR2')
  const { code, err } = await demo.ended
  expect([code, err]).toEqual([70, expect.stringContaining('an uncaught fault ends the server')])
})

test.each([
  ['is thrown in a listener', "throw new Error('broken on purpose',{cause:new Error('the cause')})"],
  [
    'is rejected and never handled',
    "Promise.reject(new Error('broken on purpose',{cause:new Error('the cause')}))",
  ],
])(
  'a fault that %s is logged with its cause, and ends the server with its sockets and its directory',
  async (_name, how) => {
    const { cwd, data } = project()
    const server = start(cwd, ['serve', '--json'], breaking(how))
    await server.says('"url"')
    const { url } = JSON.parse(server.out()) as { url: string }
    const ws = new WebSocket(`${url.replace('http', 'ws')}/ws`)
    await once(ws, 'message')
    server.child.kill('SIGUSR2')
    const [[code], ended] = await Promise.all([once(ws, 'close') as Promise<[number]>, server.ended])
    expect(code).toBe(1001)
    expect(ended.code).toBe(70)
    const logged = ended.err
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { level: string; message: string; stack: string })
    expect(logged).toMatchObject([
      {
        level: 'error',
        message: expect.stringContaining('ends the server') as string,
        stack: expect.stringMatching(/broken on purpose[^]*caused by: Error: the cause/) as string,
      },
    ])
    expect(existsSync(join(data, 'server.json'))).toBe(false)
    expect(json(await cli(cwd, 'call', 'helper', 'x', '--json'))).toMatchObject({ outcome: 'completed' })
  },
)

test('a server whose standard error is gone ends after a fault, and does not spin', async () => {
  const { cwd, data } = project()
  const server = start(cwd, ['serve', '--json'], breaking("throw new Error('broken on purpose')"))
  await server.says('"url"')
  server.child.stderr?.destroy()
  server.child.kill('SIGUSR2')
  const [code] = (await once(server.child, 'exit')) as [number]
  expect(code).toBe(70)
  expect(existsSync(join(data, 'server.json'))).toBe(false)
})
