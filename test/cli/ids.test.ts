/** Short ids and `last` wherever an id is typed, files that are not overwritten, and the newest events first. */
import { readFileSync } from 'node:fs'
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

test('a short id or "last" is enough for every command that takes an id', async () => {
  const short = { flow: shortId(ran.flow), call: shortId(call), session: shortId(ran.session) }
  expect([short.flow.length, short.call.length, short.session.length]).toEqual([6, 6, 6])
  const all = [short.flow, short.call, short.session, 'last'].flatMap((id) => [
    ['flow', id],
    ['explain', id],
    ['replay', id],
    ['export', id],
  ])
  const ends = await Promise.all(all.map(async (args) => [args.join(' '), (await run(...args)).code]))
  expect(ends.filter(([, code]) => code !== 0)).toEqual([])
  // It was found, and has ended.
  expect((await run('steer', short.call, 'hurry')).err).toContain('has ended')
  expect((await run('steer', 'last', 'hurry')).err).toContain('has ended')
  expect((await run('cancel', short.session)).err).toContain(`nothing runs in ${ran.session}`)
  expect((await run('inbox', short.session)).code).toBe(0)
  expect(json(await run('run', 'more tea', '--session', short.session, '--json'))).toMatchObject({
    session: ran.session,
  })
})

test('an export overwrites nothing unless it is told to', async () => {
  const file = join(place.cwd, 'night.jsonl')
  expect((await run('export', ran.flow, '--out', file)).code).toBe(0)
  const before = readFileSync(file, 'utf8')
  expect(await run('export', call, '--out', file)).toMatchObject({
    code: 2,
    err: expect.stringContaining('it exists; choose another name, or say --force') as unknown,
  })
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect((await run('export', call, '--out', file, '--force')).code).toBe(0)
  expect(readFileSync(file, 'utf8')).not.toBe(before)
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
