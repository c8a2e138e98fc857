/** Short ids where an id is typed, files that are not overwritten, and the newest events first. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { shortId } from '../../src/cli/show/short-id.ts'
import { cli, json, patience, project, start, type Ended } from '../kits/cli.ts'

vi.setConfig(patience)

const place = project()
const run = (...args: string[]): Promise<Ended> => cli(place.cwd, ...args)
let ran = { session: '', flow: '' }
let call = ''
beforeAll(async () => {
  await start(place.cwd, ['serve', '--json']).says('"url"')
  ran = json(await run('run', 'tea', '--json'))
  call = json<{ call: string }[]>(await run('calls', '--json'))[0]?.call ?? ''
})

test('a short id is enough, and that of a call means the call, not the session that it made', async () => {
  const short = { flow: shortId(ran.flow), call: shortId(call), session: shortId(ran.session) }
  expect([short.flow.length, short.call.length, short.session.length]).toEqual([6, 6, 6])
  expect(json(await run('explain', short.call, '--json'))).toMatchObject({ id: call, kind: 'call' })
  expect(json(await run('explain', short.session, '--json'))).toMatchObject({ id: ran.session })
  // It was found, and has ended.
  expect((await run('steer', short.call, 'hurry')).err).toContain('has ended')
  expect((await run('cancel', short.session)).err).toContain(`nothing runs in ${ran.session}`)
})

test('an export overwrites nothing unless it is told to', async () => {
  const file = join(place.cwd, 'night.jsonl')
  const before = 'mine'
  writeFileSync(file, before)
  expect(await run('export', call, '--out', file)).toMatchObject({
    code: 2,
    err: expect.stringContaining('it exists; choose another name, or say --force') as unknown,
  })
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect((await run('export', 'last', '--out', file, '--force')).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toContain(ran.flow)
})

test('tail begins with the newest events, so that there is something to see at once', async () => {
  const tailing = start(place.cwd, ['tail', '--json'])
  await tailing.says('"turn.ended"')
  tailing.child.kill('SIGINT')
  const { out, code } = await tailing.ended
  const lines = out.trim().split('\n')
  expect([code, lines.length <= 20]).toEqual([0, true])
  // Each line is a whole event.
  expect(lines.map((line) => typeof (JSON.parse(line) as { seq: unknown }).seq)).not.toContain('undefined')
})
