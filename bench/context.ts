/** What a filtered selection of context costs at 1,000, 10,000 and 100,000 messages. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadTokenizer } from '../src/adapters/tokens/tokenizer.ts'
import type { Event, Grant } from '../src/model/event.ts'
import type { SessionId } from '../src/model/id.ts'
import type { EntrySelect } from '../src/runtime/kernel/store-port.ts'
import { sqliteStore, type SqliteStore } from '../src/store/sqlite.ts'
import type { Progress } from './progress.ts'
import { formatNumber, formatRatio, requireAtMost, type Check, type Part } from './report.ts'
import { median } from './round.ts'

const sizes = [1000, 10_000, 100_000]
/** Turns that are written together at one time; groups are half an hour apart. */
const turnsPerGroup = 15
const tokensMax = 4000
const minuteMs = 60_000
const repeats = 40

const stems = 'build server token budget socket parser branch review deadline cache'.split(' ')
/** A thousand different words, most of them rare, so that an index matters. */
const vocabulary = Array.from({ length: 1000 }, (_, index) => `${stems[index % stems.length]}${index}`)

/** The text of an entry depends only on its number, so that every run sees the same words. */
function writeText(n: number, total: number): string {
  const words = Array.from(
    { length: 24 },
    (_, index) => vocabulary[(n * 7919 + index * 104_729) % vocabulary.length],
  )
  // Three entries in the older half contain the rare word; every third contains the common one.
  const rare =
    n === Math.floor(total / 4) || n === Math.floor(total / 3) || n === Math.floor(total / 2)
      ? ' zeppelin'
      : ''
  return `${words.join(' ')}${n % 3 === 0 ? ' deploy' : ''}${rare}.`
}

const filters: Record<string, EntrySelect['filter']> = {
  'last 20': { last_messages: 20 },
  'roles: user, last 20': { roles: ['user'], last_messages: 20 },
  'keyword, common, last 20': { keywords: ['deploy'], last_messages: 20 },
  'keyword, rare': { keywords: ['zeppelin'] },
  'keyword, nowhere': { keywords: ['xylophone'] },
  'age: one hour': { max_age_seconds: 3600 },
}

const createGrant = (session: SessionId): Grant => ({
  agent: 'planner',
  depth: 0,
  subagentDepth: 0,
  path: [{ session, agent: 'planner' }],
  authority: { tools: null, nested: true },
  tokensMax: null,
  maxIterations: 16,
})

/** One turn adds two entries: the question and the answer. */
function createTurnEvents(
  session: SessionId,
  first: number,
  total: number,
  at: number,
  count: (text: string) => number,
): Event[] {
  const turn = `turn_${session}-${String(first).padStart(8, '0')}` as const
  const [asked, answered] = [writeText(first, total), writeText(first + 1, total)]
  return [
    {
      type: 'message.sent',
      session,
      turn,
      message: `msg_${session}-${first}`,
      flow: `flow_${session}-${first}`,
      from: null,
      senderTurn: null,
      source: 'user',
      applet: null,
      inReplyTo: null,
      text: asked,
      tokens: count(asked),
      deadline: null,
      trace: null,
      grant: createGrant(session),
    },
    {
      type: 'turn.ended',
      session,
      turn,
      outcome: 'completed',
      output: answered,
      error: null,
      tokensUsed: 0,
      tokensBelow: 0,
      iterations: 1,
      toolCalls: [],
      entry: {
        n: first,
        asked,
        askedTokens: count(asked),
        from: null,
        startedAt: at,
        answered,
        answeredTokens: count(answered),
      },
    },
  ]
}

/** Fills a session through the store with about a message per minute. The clock moves with each group. */
async function fill(
  store: SqliteStore,
  clock: { now: number },
  session: SessionId,
  total: number,
  now: number,
  count: (text: string) => number,
): Promise<void> {
  clock.now = now - total * minuteMs
  await store.transact([`session:${session}`], async (tx) =>
    tx.append({
      type: 'session.created',
      session,
      turn: null,
      agent: 'planner',
      kind: 'persistent',
      parent: null,
      cwd: '/',
      title: '',
      model: null,
      flow: null,
    }),
  )
  for (let first = 1; first <= total; first += 2 * turnsPerGroup) {
    clock.now = now - Math.max(0, total + 1 - first - 2 * turnsPerGroup) * minuteMs
    const group: Promise<unknown>[] = []
    for (let n = first; n <= total && n < first + 2 * turnsPerGroup; n += 2) {
      const events = createTurnEvents(session, n, total, clock.now, count)
      group.push(
        store.transact([`session:${session}`, `flow:flow_${session}-${n}`], async (tx) =>
          tx.append(...events),
        ),
      )
    }
    await Promise.all(group)
  }
  clock.now = now
}

export async function context(progress: Progress): Promise<Part> {
  progress.part('context', sizes.length + 1)
  const directory = mkdtempSync(join(tmpdir(), 'tieline-bench-context-'))
  const now = Date.now()
  const clock = { now }
  const store = sqliteStore({ directory, now: () => clock.now })
  try {
    const count = await loadTokenizer()
    for (const size of sizes) {
      await fill(store, clock, `ses_${size}`, size, now, count)
      progress.step(`${size} messages written`)
    }
    const rows: string[][] = []
    const checks: Check[] = []
    for (const [name, filter] of Object.entries(filters)) {
      const ms = await measureInterleaved(store, filter, now).catch((fault: unknown) => reportBroken(fault))
      const [small, , large] = ms.map(({ medianMs }) => medianMs)
      rows.push([
        name,
        ...ms.map(({ medianMs }) => formatNumber(medianMs)),
        formatRatio((large ?? Number.NaN) / (small ?? Number.NaN)),
        ms.map(({ passed }) => passed).join(' / '),
      ])
      checks.push(
        requireAtMost(`context, ${name}: time from 100,000 messages`, large ?? Number.NaN, 2, ' ms'),
      )
      // Below 0.05 ms the ratio of two times is only noise.
      if ((large ?? 0) > 0.05)
        checks.push(
          requireAtMost(
            `context, ${name}: 100,000 against 1,000`,
            (large ?? Number.NaN) / (small ?? Number.NaN),
            1.2,
            '×',
          ),
        )
    }
    progress.step('measured')
    return {
      name: 'context',
      checks,
      notes: [
        [
          `Selections within ${tokensMax} tokens from a warm store on disk.`,
          'The ratio is only checked for times above 0.05 ms.',
        ].join(' '),
      ],
      tables: [
        {
          title: `Context building, ms (median of ${repeats}, sizes alternating)`,
          columns: ['filter', ...sizes.map((size) => size.toLocaleString('en')), '100k/1k', 'entries passed'],
          rows,
        },
      ],
    }
  } finally {
    await store.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** A selection that throws fails only its own figures. */
function reportBroken(fault: unknown): { medianMs: number; passed: number }[] {
  console.error(`\ncontext: ${fault instanceof Error ? fault.message : String(fault)}`)
  return sizes.map(() => ({ medianMs: Number.NaN, passed: 0 }))
}

async function measureInterleaved(
  store: SqliteStore,
  filter: EntrySelect['filter'],
  now: number,
): Promise<{ medianMs: number; passed: number }[]> {
  const taken = sizes.map(() => [] as number[])
  const passed = sizes.map(() => 0)
  for (let repeat = 0; repeat < repeats + 10; repeat += 1) {
    for (const [index, size] of sizes.entries()) {
      const from = performance.now()
      const page = await store.entries(`ses_${size}`, { filter, now, tokensMax })
      // The first ten are warm-up.
      if (repeat >= 10) taken[index]?.push(performance.now() - from)
      passed[index] = page.entries.length
    }
  }
  return taken.map((list, index) => ({ medianMs: median(list), passed: passed[index] ?? 0 }))
}
