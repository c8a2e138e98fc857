/** The lower bound for anything durable: events of a given size in SQLite, with group commit and nothing else. */
import { join } from 'node:path'
import { openRawLog } from './lanes.ts'

export type BareAppend = {
  /** Resolves when this many events are on disk. */
  append: (count: number) => Promise<void>
  commits: () => number
  close: () => void
}

export function createBareAppend(directory: string, eventBytes: number): BareAppend {
  const { begin, commit, insert, close } = openRawLog(join(directory, 'bare.db'))
  const event = JSON.stringify({ type: 'step.ended', text: 'x'.repeat(Math.max(1, eventBytes - 32)) })
  let queue: { count: number; done: () => void }[] = []
  let commits = 0
  const drain = (): void => {
    const group = queue
    queue = []
    begin.run()
    for (const { count } of group)
      for (let index = 0; index < count; index += 1) insert.run(Date.now(), event)
    commit.run()
    commits += 1
    for (const { done } of group) done()
  }
  return {
    append: (count) =>
      new Promise((done) => {
        if (queue.length === 0) setImmediate(drain)
        queue.push({ count, done })
      }),
    commits: () => commits,
    close,
  }
}
