/** Damaged views of mail: noticed at the start, and rebuilt from the log. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AgentFS } from 'agentfs-sdk'
import { expect, test, vi } from 'vitest'
import { user } from '../kits/mail.ts'
import { correspondence } from '../kits/mail-views.ts'

// A new database takes AgentFS a tenth of a second, and a busy machine much longer.
vi.setConfig({ testTimeout: 120_000 })

test.each([
  ['a changed file', (folder: string) => writeFileSync(join(folder, 'one.json'), '{}')],
  ['a missing file', (folder: string) => unlinkSync(join(folder, 'one.json'))],
  ['a file too many', (folder: string) => writeFileSync(join(folder, 'stray.json'), '{}')],
  ['no state', (folder: string) => unlinkSync(join(folder, '.view.json'))],
  ['half a state', (folder: string) => writeFileSync(join(folder, '.view.json'), '{"log":')],
  [
    'a file instead of a folder',
    (folder: string) => {
      rmSync(folder, { recursive: true })
      writeFileSync(folder, 'x')
    },
  ],
])('files: %s is noticed, and the folder rebuilt', async (_, damage) => {
  const { b, directory, once, read, records, warnings } = await correspondence()
  await once({ storage: 'files' })
  damage(join(directory, b))
  await once({ storage: 'files' })
  expect(await read('files', b)).toEqual(await records('one', 'two', 'three'))
  expect(warnings).toEqual([])
})

test.each([
  ['not a database', (file: string) => writeFileSync(file, 'garbage '.repeat(2000))],
  ['empty', (file: string) => writeFileSync(file, '')],
  [
    'a directory',
    (file: string) => {
      rmSync(file)
      mkdirSync(file)
    },
  ],
  [
    'overwritten in the middle',
    (file: string) => {
      const bytes = readFileSync(file)
      bytes.fill(0x5a, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 20_000)
      writeFileSync(file, bytes)
    },
  ],
  ['cut off', (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 9000))],
])('agentfs: a database that is %s is noticed and rebuilt', async (_, damage) => {
  const { b, directory, once, inDatabase, warnings } = await correspondence()
  await once()
  const before = await inDatabase(b)
  for (const ending of ['-wal', '-shm']) rmSync(join(directory, `${b}.db${ending}`), { force: true })
  damage(join(directory, `${b}.db`))
  await once()
  expect(await inDatabase(b)).toEqual(before)
  expect(warnings).toEqual([])
})

test.each([
  ['a changed file', (fs: AgentFS) => fs.fs.writeFile('/messages/one.json', '{}')],
  ['a missing file', (fs: AgentFS) => fs.fs.unlink('/messages/one.json')],
  [
    'a changed use of a tool',
    (fs: AgentFS) => fs.getDatabase().exec(`update tool_calls set result = '1' where id = 1`),
  ],
  ['a use of a tool that nobody made', (fs: AgentFS) => fs.tools.start('x', {})],
  [
    'another log',
    (fs: AgentFS) => fs.kv.set('tieline', { log: 'other', seq: 3, count: 3, sum: 1, tools: 0, toolSum: 0 }),
  ],
])('agentfs: %s is noticed, and the database rebuilt', async (_, damage) => {
  const { b, directory, once, inDatabase } = await correspondence()
  await once()
  const before = await inDatabase(b)
  const fs = await AgentFS.open({ path: join(directory, `${b}.db`) })
  await damage(fs)
  await fs.close()
  await once()
  expect(await inDatabase(b)).toEqual(before)
})

test('a database that another process has open is left alone, with a warning, until the next start', async () => {
  const { w, a, b, directory, once, inDatabase, records, warnings } = await correspondence()
  await once()
  const file = join(directory, `${b}.db`)
  const program = `
    import { AgentFS } from 'agentfs-sdk'
    const fs = await AgentFS.open({ path: ${JSON.stringify(file)} })
    console.log('open')
    process.stdin.on('end', () => fs.close()).resume()
  `
  const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: process.cwd(),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => holder.once('exit', resolve))
  await new Promise((resolve) => holder.stdout.once('data', resolve))
  for (const session of [a, b])
    await w.ok(w.exchange.mail.send(user, { session, message: 'more', id: `more-${session}` }, null, null))
  await once()
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`${b}.*lock`, 'i')) as string])
  holder.stdin.end()
  await ended
  expect((await inDatabase(a)).messages).toEqual(await records('back', `more-${a}`))
  expect((await inDatabase(b)).messages).not.toHaveProperty(`more-${b}.json`)
  await once()
  expect((await inDatabase(b)).messages).toEqual(await records('one', 'two', 'three', `more-${b}`))
})

test('a place that cannot be written costs one warning, and is rebuilt at the next start', async () => {
  const { w, a, b, view, once, read, records, warnings } = await correspondence()
  const open = await view({
    storage: 'files',
    mail: {
      get: async (id) => {
        if (id === 'two') throw new Error('planted')
        return w.desks.as({}).mail.get(id)
      },
    },
  })
  await open.settled()
  await w.ok(w.exchange.mail.send(user, { session: b, message: 'more', id: 'more' }, null, null))
  await open.settled()
  await open.close()
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`${b}.*planted`)) as string])
  expect(await read('files', a)).toEqual(await records('back'))
  await once({ storage: 'files' })
  expect(await read('files', b)).toEqual(await records('one', 'two', 'three', 'more'))
})
