import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { letter, mailWorld, user, type MailWorld } from '../../test/kits/mail.ts'
import { totalsFile, totalsName, type TotalsFile } from './totals-file.ts'
import { totalsView, type Totals } from './totals.ts'

type Script = {
  task: string
  think(text: string): Promise<string>
  tool(name: string, input: never): Promise<unknown>
}

const agents = {
  planner: {
    script: async (turn: Script) => {
      if (turn.task === 'call')
        await turn.tool('sub_agent', { agent_name: 'coder', task: 'a part', timeout_seconds: 60 } as never)
      return turn.think('ok')
    },
  },
  coder: { script: async (turn: Script) => turn.think(`done ${turn.task}`) },
}

type World = { w: MailWorld; directory: string; run: (text: string) => Promise<void> }

async function makeWorld(): Promise<World> {
  const w = await mailWorld({ agents })
  const session = await w.open('planner')
  const directory = mkdtempSync(join(tmpdir(), 'tieline-totals-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return {
    w,
    directory,
    async run(text) {
      await w.ok(w.exchange.send(user, letter(session, text)))
      await w.rested(session)
    },
  }
}

/** Counts as a process does that is then closed. `read` are the numbers that it read the log after. */
async function count({ w }: World, file?: TotalsFile): Promise<{ totals: Totals; read: number[] }> {
  const read: number[] = []
  const view = totalsView({
    clock: w.clock,
    store: {
      read: (after, ...rest) => {
        read.push(after)
        return w.store.read(after, ...rest)
      },
      lastSeq: () => w.store.lastSeq(),
    },
    ...(file === undefined ? {} : { file }),
    log: w.desks.as({}).log,
    report: (fault) => {
      throw fault
    },
  })
  view.read(null)
  for (let tries = 0; tries < 10_000 && !view.read(null).complete; tries += 1) {
    await new Promise(setImmediate)
    await w.until(w.clock.sleep(5))
  }
  const totals = view.read(null)
  await view.close()
  return { totals, read }
}

test('after a restart only what came later is counted, and the totals are those of the whole log', async () => {
  const world = await makeWorld()
  const { w, directory, run } = world
  const open = (): TotalsFile => totalsFile(directory, w.store)
  await run('hello')
  await run('call')
  const before = w.store.lastSeq()
  expect((await count(world, open())).read[0]).toBe(0)
  await run('call')
  await run('hello')
  const again = await count(world, open())
  expect(again.read[0]).toBe(before)
  expect(again.totals).toEqual((await count(world)).totals)
  expect(again.totals).toMatchObject({ complete: true, requests: 4, calls: 2 })
})

test('what was counted in the middle of a call goes on after a restart, with its agent and its tokens', async () => {
  const world = await makeWorld()
  const { w, directory, run } = world
  await run('call')
  const whole = (await count(world)).totals
  for (let upTo = 1; upTo < w.store.lastSeq(); upTo += 1) {
    const early: World['w'] = Object.assign(Object.create(w) as MailWorld, {
      store: {
        read: async (after: number, filter: object, limit: number) => {
          const page = await w.store.read(after, filter, limit)
          return { ...page, events: page.events.filter(({ seq }) => seq <= upTo), more: false }
        },
        lastSeq: () => upTo,
        event: (seq: number) => w.store.event(seq),
      },
      desks: { as: () => ({ log: { follow: () => () => undefined } }) },
    })
    await count({ ...world, w: early }, totalsFile(directory, early.store))
    const again = await count(world, totalsFile(directory, w.store))
    expect([upTo, again.read[0], again.totals]).toEqual([upTo, upTo, whole])
    rmSync(join(directory, totalsName))
  }
})

test('totals of another log, of a longer one and damaged ones are not used: the log is counted anew', async () => {
  const [world, other] = [await makeWorld(), await makeWorld()]
  const { w, directory, run } = world
  await run('call')
  await other.run('hello')
  await other.run('hello')
  const whole = (await count(world)).totals
  const path = join(directory, totalsName)
  const tryWith = async (): Promise<void> => {
    const { totals, read } = await count(world, totalsFile(directory, w.store))
    expect([read[0], totals]).toEqual([0, whole])
  }
  await count(other, totalsFile(directory, other.w.store))
  await tryWith()
  const good = readFileSync(path)
  const flipped = Buffer.from(good)
  const at = flipped.length - 20
  flipped[at] = (flipped[at] ?? 0) ^ 0xff
  for (const bad of [flipped, good.subarray(0, 100), Buffer.from('nothing'), Buffer.alloc(0)]) {
    writeFileSync(path, bad)
    await tryWith()
  }
})
