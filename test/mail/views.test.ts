/**
 * Mail as AgentFS databases and as files, opened by `agentfs-sdk` itself: equal to the record, kept up to
 * date, and the same again when it is gone.
 */
import { exchangeOf } from '../kits/askers.ts'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openServer } from '../../src/open-server.ts'
import { mailView } from '../../src/views/mail-view.ts'
import { letter, mailWorld, user } from '../kits/mail.ts'
import { correspondence, inDatabase, mailDesk, storages } from '../kits/mail-views.ts'

// A new database takes AgentFS a tenth of a second, and a busy machine much longer.
vi.setConfig({ testTimeout: 120_000 })

describe.each(storages)('%s', (storage) => {
  test('each message is a file named by its id, with the record of the exchange, at its receiver only', async () => {
    const { a, b, directory, once, read, records, warnings } = await correspondence()
    await once({ storage })
    expect(await read(storage, b)).toEqual(await records('one', 'two', 'three'))
    expect(await read(storage, a)).toEqual(await records('back'))
    expect(await records('one', 'three')).toMatchObject({
      'one.json': { status: 'answered', 'in-reply-to': null },
      'three.json': { status: 'declined' },
    })
    expect(
      readdirSync(directory).filter((name) => !name.startsWith('.') && !name.endsWith('-wal')),
    ).toHaveLength(2)
    expect(warnings).toEqual([])
  })

  test('what happens to a message later arrives, also the start of a turn that it waited for', async () => {
    const w = await mailWorld({
      agents: {
        coder: {
          script: async (turn) => {
            await w.clock.sleep(1000, turn.signal)
            return 'done'
          },
        },
      },
    })
    const b = await w.open('coder')
    const desk = mailDesk(w)
    const view = await desk.view({ storage })
    await w.ok(w.exchange.mail.send(user, { session: b, message: 'second', id: 'two' }, null, null))
    await view.settled()
    await w.exchange.send(user, letter(b, 'first'))
    await w.ok(w.exchange.mail.accept(user, b, 'two', null))
    await view.settled()
    await view.close()
    expect(await desk.read(storage, b)).toMatchObject({
      'two.json': { status: 'queued', accepted_at: expect.any(String) as string },
    })
    const again = await desk.view({ storage })
    await w.rested(b)
    await again.settled()
    await again.close()
    // What the user said without mail is in the log alone.
    expect(await desk.read(storage, b)).toEqual(await desk.records('two'))
    expect(await desk.read(storage, b)).toMatchObject({ 'two.json': { status: 'delivered' } })
    expect(desk.warnings).toEqual([])
  })

  test('deleted, it is the same again; so is a single place', async () => {
    const { a, b, directory, once, read } = await correspondence()
    await once({ storage })
    const before = [await read(storage, a), await read(storage, b)]
    rmSync(directory, { recursive: true })
    await once({ storage })
    expect([await read(storage, a), await read(storage, b)]).toEqual(before)
    for (const name of readdirSync(directory).filter((found) => found.startsWith(b)))
      rmSync(join(directory, name), { recursive: true })
    await once({ storage })
    expect([await read(storage, a), await read(storage, b)]).toEqual(before)
  })

  test('a cursor that is behind is caught up without doubles; one that does not fit is not believed', async () => {
    const { w, b, directory, once, all, records, warnings } = await correspondence()
    await once({ storage })
    const [cursor = ''] = readdirSync(directory).filter((name) => name.startsWith('.cursor-'))
    const file = join(directory, cursor)
    const old = readFileSync(file, 'utf8')
    const more = async (id: string): Promise<void> => {
      await w.ok(w.exchange.mail.send(user, { session: b, message: 'more', id }, null, null))
      await w.use(b, 'buffer', {})
    }
    await more('four')
    await once({ storage })
    const ids = ['one', 'two', 'three', 'four']
    for (const [id, text] of Object.entries({
      five: old,
      six: `{"storage":"${storage}","seq":99999999,"sessions":{}}`,
      seven: 'garbage',
    })) {
      writeFileSync(file, text)
      await more(id)
      ids.push(id)
      await once({ storage })
      expect((await all(storage, b)).messages).toEqual(await records(...ids))
    }
    const kept = await all(storage, b)
    rmSync(directory, { recursive: true })
    await once({ storage })
    expect(await all(storage, b)).toEqual(kept)
    expect(warnings).toEqual([])
  })

  test('an old copy of a place is noticed', async () => {
    const { w, b, directory, once, read, records } = await correspondence()
    await once({ storage })
    const aside = join(directory, '..', 'aside')
    mkdirSync(aside)
    const from = storage === 'files' ? join(directory, b) : directory
    const names = () => readdirSync(from).filter((name) => storage === 'files' || name.startsWith(b))
    const kept = names()
    for (const name of kept) copyFileSync(join(from, name), join(aside, name))
    await w.ok(w.exchange.mail.decline(user, 'two'))
    await once({ storage })
    for (const name of names()) unlinkSync(join(from, name))
    for (const name of kept) copyFileSync(join(aside, name), join(from, name))
    await once({ storage })
    expect(await read(storage, b)).toEqual(await records('one', 'two', 'three'))
  })

  test('only their owner may read them', async () => {
    const { b, directory, once } = await correspondence()
    await once({ storage })
    expect(
      statSync(storage === 'files' ? join(directory, b, 'one.json') : join(directory, `${b}.db`)).mode &
        0o077,
    ).toBe(0)
    expect(statSync(directory).mode & 0o077).toBe(0)
  })
})

test('with sqlite there is the log alone', async () => {
  const { deps, directory } = await correspondence()
  expect(await mailView(deps({ storage: 'sqlite' }))).toBeNull()
  expect(existsSync(directory)).toBe(false)
})

test('the server keeps the databases that its configuration asks for', async () => {
  const home = mkdtempSync(join(tmpdir(), 'tieline-mail-serve-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const config = join(home, 'tieline.toml')
  writeFileSync(config, '[mail]\nstorage = "agentfs"\ndirectory = "mail"\n')
  const warnings: string[] = []
  const start = () =>
    openServer({
      config,
      dataDir: join(home, 'data'),
      port: 0,
      agents: { a: { script: () => 'x' } },
      onWarning: (text) => warnings.push(text),
    })
  const served = await start()
  const exchange = exchangeOf(served.line.desks)
  const made = await exchange.createSession(user, {
    cwd: home,
    agent: 'a',
    model: null,
    title: '',
    parent: null,
    initialMessage: null,
    id: null,
    trace: null,
  })
  if ('code' in made) throw new Error(made.code)
  const sent = await exchange.mail.send(
    user,
    { session: made.sessionId, message: 'hello', id: 'one' },
    null,
    null,
  )
  const record = await exchange.mail.message(user, 'one')
  expect(sent).toMatchObject({ status: 'buffered' })
  await served.close()
  // What the server had no time for is caught up by the next one.
  const next = await start()
  const file = join(home, 'mail', `${made.sessionId}.db`)
  while (
    readdirSync(home).includes('mail') === false ||
    !readdirSync(join(home, 'mail')).some(
      (name) =>
        name.startsWith('.cursor-') &&
        readFileSync(join(home, 'mail', name), 'utf8').includes(made.sessionId),
    )
  )
    await new Promise((resolve) => setTimeout(resolve, 20))
  await next.close()
  expect((await inDatabase(file)).messages).toEqual({ 'one.json': record })
  expect(warnings).toEqual([])
})
