import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { isSessionId, type TurnId } from '../model/id.ts'
import { StoreFault } from './directory.ts'
import { viewsEqual } from './rebuild.ts'
import { sqliteStore } from './sqlite.ts'

const script = fileURLToPath(new URL('../../test/hostile/store-writer.ts', import.meta.url))

type Writer = {
  until: (enough: (lines: readonly string[]) => boolean) => Promise<void>
  kill: () => Promise<string[]>
}

function startWriter(directory: string, name: string): Writer {
  const child = spawn(process.execPath, [script, directory, name], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  let look = (): void => undefined
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    look()
  })
  const gone = new Promise<void>((resolve) => void child.on('close', () => resolve()))
  const whole = (): string[] => text.split('\n').slice(0, -1)
  return {
    until: (enough) =>
      new Promise<void>((resolve) => {
        look = () => void (enough(whole()) && resolve())
        look()
      }),
    async kill() {
      child.kill('SIGKILL')
      await gone
      return whole()
    },
  }
}

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-kill-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

test('R2, R10: after a kill at any time, all that was acknowledged is there, and the views are its fold', async () => {
  const directory = scratch()
  const acknowledged: string[] = []
  for (let round = 0; round < 10; round += 1) {
    const writer = startWriter(directory, `r${round}`)
    const enough = 2 + Math.floor(Math.random() * 400)
    await writer.until((lines) => lines.length >= enough)
    acknowledged.push(...(await writer.kill()).filter((line) => line !== 'open'))
    const store = sqliteStore({ directory, now: () => 2 })
    try {
      const missing: string[] = []
      for (const id of acknowledged) {
        const there = isSessionId(id)
          ? (await store.session(id)) !== null
          : (await store.turn(id as TurnId))?.state === 'ended'
        if (!there) missing.push(id)
      }
      expect(missing).toEqual([])
      expect(viewsEqual(store.db)).toEqual({ equal: true, difference: null })
      const seqs: number[] = []
      for (let [after, more] = [0, true]; more;) {
        const page = await store.read(after, {}, 1_000_000)
        seqs.push(...page.events.map(({ seq }) => seq))
        ;[after, more] = [page.next, page.more]
      }
      expect(seqs).toEqual(Array.from({ length: store.lastSeq() }, (_, n) => n + 1))
    } finally {
      await store.close()
    }
  }
  expect(acknowledged.length).toBeGreaterThan(20)
}, 240_000)

test('a directory has one owner: a second is refused with what to do, until the first was killed', async () => {
  const directory = scratch()
  const writer = startWriter(directory, 'first')
  await writer.until((lines) => lines.length > 0)
  expect(() => sqliteStore({ directory, now: () => 0 })).toThrow(StoreFault)
  expect(() => sqliteStore({ directory, now: () => 0 })).toThrow(
    /is in use by another Tieline process\. Connect to that one, end it, or choose another data directory/,
  )
  await writer.kill()
  const store = sqliteStore({ directory, now: () => 0 })
  await store.close()
})

test('R4: leases of a killed process have ended when its directory is opened again', async () => {
  const directory = scratch()
  const first = sqliteStore({ directory, now: () => 0 })
  await first.heartbeat('node_1', 1_000_000)
  await first.transact(['session:ses_a'], async (tx) =>
    tx.append(
      {
        type: 'session.created',
        session: 'ses_a',
        turn: null,
        agent: 'a',
        kind: 'persistent',
        parent: null,
        cwd: '/',
        title: '',
        model: null,
        flow: null,
      },
      {
        type: 'message.sent',
        session: 'ses_a',
        turn: 'turn_a',
        message: 'm',
        flow: 'flow_1',
        from: null,
        senderTurn: null,
        source: 'user',
        applet: null,
        inReplyTo: null,
        text: '',
        tokens: 0,
        deadline: null,
        trace: null,
        grant: {
          agent: 'a',
          depth: 0,
          subagentDepth: 0,
          path: [],
          authority: { tools: null, nested: true },
          tokensMax: null,
          maxIterations: 1,
        },
      },
      {
        type: 'turn.started',
        session: 'ses_a',
        turn: 'turn_a',
        node: 'node_1',
        epoch: 1,
        deadline: 1_000_000,
      },
    ),
  )
  expect((await first.due(0, 10)).sessions).toEqual([])
  await first.close()
  const second = sqliteStore({ directory, now: () => 0 })
  onTestFinished(() => second.close())
  expect((await second.due(0, 10)).sessions).toEqual(['ses_a'])
})
