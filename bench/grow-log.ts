/**
 * Makes a long log quickly. A few delegations really run; their rows are then repeated with ids and times of their
 * own, and folded by the store's own functions in large transactions. So every row, view and index is as if each of
 * them had run.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Event } from '../src/model/event.ts'
import { openLine } from '../src/open-line.ts'
import { applyAll } from '../src/store/apply.ts'
import { openDatabase } from '../src/store/directory.ts'
import { listRows } from '../src/store/log-row.ts'
import { prepareWrites } from '../src/store/write-statements.ts'
import { coderPrompt, createInstantModel, nextUserTask, plannerPrompt } from './work.ts'

export type Growth = {
  directory: string
  workspace: string
  delegations: number
  /** The moment of the first, and how far they are apart. */
  firstAt: number
  everyMs: number
  /** So many of the first have their session archived after they ended. */
  archived: number
  onProgress?: (done: number) => void
}

const samples = 32
const perCommit = 2000

/** The agents of the delegation benches, with the tool that comes with Tieline. */
export const growAgents = {
  planner: {
    prompt: plannerPrompt,
    description: 'Plans.',
    tools: ['sub_agent'],
    allowSubAgentCalls: true,
    languageModel: createInstantModel('planner'),
  },
  coder: {
    prompt: coderPrompt,
    description: 'Reads code.',
    tools: ['read'],
    languageModel: createInstantModel('coder', { reading: 'read' }),
  },
}

/** One delegation: its transactions, and the numbers that its ids consist of. */
type Sample = { rows: { at: number; events: string }[]; numbers: string[]; session: string }

export async function growLog({ directory, workspace, ...growth }: Growth): Promise<void> {
  const sampled = await takeSamples(join(directory, 'sample'), workspace)
  const db = openDatabase(join(directory, 'tieline.db'))
  try {
    // Nothing of it is worth keeping after a crash.
    db.exec('pragma synchronous = off; pragma wal_autocheckpoint = 20000')
    repeatSamples(db, sampled, growth)
    db.exec('pragma wal_checkpoint(truncate)')
  } finally {
    db.close()
  }
}

async function takeSamples(directory: string, workspace: string): Promise<Sample[]> {
  const line = await openLine({ dataDir: directory, cwd: workspace, agents: growAgents })
  const taken: Sample[] = []
  try {
    let seen = 0
    for (let n = 0; n < samples; n += 1) {
      const { session, outcome } = await line.run('planner', nextUserTask())
      if (outcome !== 'completed' || session === null) throw new Error(`the delegation ended ${outcome}`)
      const rows = [...listRows(line.store.db)].slice(seen)
      seen += rows.length
      const text = rows.map(({ events }) => events).join('\n')
      const numbers = [...new Set([...text.matchAll(/_(\d{15,})/g)].map(([, digits = '']) => digits))]
      taken.push({ rows, numbers, session })
    }
  } finally {
    await line.close()
    rmSync(directory, { recursive: true, force: true })
  }
  return taken
}

function repeatSamples(
  db: DatabaseSync,
  sampled: readonly Sample[],
  { delegations, firstAt, everyMs, archived, onProgress }: Omit<Growth, 'directory' | 'workspace'>,
): void {
  const insert = db.prepare('insert into log (seq, at, events) values (?, ?, ?)')
  const writes = prepareWrites(db)
  let [seq, nextId] = [0, 10n ** 20n]
  const add = (at: number, text: string): void => {
    const events = JSON.parse(text) as Event[]
    seq += events.length
    insert.run(seq, at, text)
    applyAll(writes, { seq, at }, events)
  }
  for (let done = 0; done < delegations;) {
    db.exec('begin')
    for (let n = 0; n < perCommit && done < delegations; n += 1, done += 1) {
      const sample = sampled[done % sampled.length] as Sample
      const began = sample.rows[0]?.at ?? 0
      const shift = firstAt + done * everyMs - began
      const ids = new Map(sample.numbers.map((number) => [number, String((nextId += 1n))]))
      const renew = (text: string): string =>
        text
          .replaceAll(/(?<=_)\d{15,}/g, (number) => ids.get(number) ?? number)
          .replaceAll(/\b1[6-9]\d{11}\b/g, (moment) => String(Number(moment) + shift))
      for (const { at, events } of sample.rows) add(at + shift, renew(events))
      if (done < archived) {
        const session = renew(sample.session)
        add(
          began + shift + 1000,
          JSON.stringify([{ type: 'session.archived', session, turn: null, cause: 'idle' }]),
        )
      }
    }
    db.exec('commit')
    onProgress?.(done)
  }
}
