/** Shows runs while they happen: as a tree on a terminal, as plain lines elsewhere, or not at all. */
import type { StoredEvent } from '../model/event.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { Tieline } from '../serve.ts'
import { plainLines } from './plain-lines.ts'
import { openScreen, type Terminal } from './screen.ts'
import { spinnerMs, treeLines } from './tree-lines.ts'
import { emptyTree, foldDelta, foldEvent, type Tree } from './tree.ts'

export type Run = ReturnType<Tieline['run']>
export type RunResult = Awaited<Run>

export type Watch = {
  /** Follows a run to its end; cancels it when `signal` aborts. */
  follow(run: Run, signal: AbortSignal): Promise<RunResult>
  /** A text that does not belong to the tree. */
  note(text: string): void
  tree(): Tree
  close(): Promise<void>
}

export type WatchStyle = { live: boolean; colour: boolean }

/** What is shown of events and of time passing; `silent` shows nothing, and still folds. */
type Face = { event(before: Tree, stored: StoredEvent): void; note(text: string): void; close(): Promise<void> }

export function watchRuns(line: Pick<Tieline, 'onDelta'>, out: (Terminal & { write(text: string): unknown }) | null, style: WatchStyle): Watch {
  let tree = emptyTree
  const face = out === null ? silent : style.live ? liveFace(out, () => tree, style.colour) : plainFace(out)
  const deaf = line.onDelta((delta) => (tree = foldDelta(tree, delta)))
  return {
    async follow(run, signal) {
      const cancel = (): void => void run.cancel('interrupted by the user').catch((fault: unknown) => face.note(String(fault)))
      if (signal.aborted) cancel()
      signal.addEventListener('abort', cancel, { once: true })
      try {
        for await (const stored of run) {
          face.event(tree, stored)
          tree = foldEvent(tree, stored)
        }
        return await run
      } finally {
        signal.removeEventListener('abort', cancel)
      }
    },
    note: (text) => face.note(text),
    tree: () => tree,
    async close() {
      deaf()
      await face.close()
    },
  }
}

/** Closes the watch when the work is over, however it ended, so that what is printed next comes below it. */
export async function shown<T>(watch: Watch, work: Promise<T>): Promise<T> {
  try {
    return await work
  } finally {
    await watch.close()
  }
}

const silent: Face = { event: () => undefined, note: () => undefined, close: async () => undefined }

const plainFace = (out: Pick<Terminal, 'write'>): Face => ({
  event: (before, stored) => plainLines(before, stored).forEach((line) => out.write(`${line}\n`)),
  note: (text) => void out.write(`${text}\n`),
  close: async () => undefined,
})

function liveFace(terminal: Terminal, tree: () => Tree, colour: boolean): Face {
  const screen = openScreen(terminal)
  const done = new AbortController()
  const draw = (): void => screen.draw(treeLines(tree(), systemClock.now(), { ...screen.size(), colour }))
  const drawing = (async () => {
    while (!done.signal.aborted) {
      draw()
      await systemClock.sleep(spinnerMs, done.signal).catch(() => undefined)
    }
  })()
  return {
    event: () => undefined,
    note: (text) => screen.above(text),
    async close() {
      done.abort()
      await drawing
      draw()
      screen.close()
    },
  }
}
