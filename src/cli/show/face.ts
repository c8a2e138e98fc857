/** How work is shown while it happens: a tree that is redrawn in place, plain lines, both, or nothing. */
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { plainLines } from './plain-lines.ts'
import { openScreen, type Screen } from './screen.ts'
import { spinnerMs, treeLines } from './tree-lines.ts'
import type { Terminal } from './terminal.ts'
import { withoutClients, type Happened, type Tree } from './tree.ts'
import type { TypedLine } from '../chat/typing.ts'

export type Face = {
  /** `before` is the tree as it was before the event. */
  event(before: Tree, happened: Happened): void
  /** A text that does not belong to the tree. */
  note(text: string): void
  /** Takes what is drawn away while somebody is asked something. */
  aside<T>(ask: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

export type FaceStyle = {
  live: boolean
  colour: boolean
  /**
   * A conversation keeps its calls as lines, and takes the tree away when a turn is over; otherwise the tree
   * stays as the last thing that was drawn.
   */
  conversation?: boolean
  /** What somebody types meanwhile, below everything else that is drawn. */
  typed?: TypedLine | null
}

export function faceOn(out: Terminal | null, tree: () => Tree, style: FaceStyle): Face {
  if (out === null) return silentFace
  return style.live ? liveFace(out, tree, style) : plainFace(out)
}

export const silentFace: Face = {
  event: () => undefined,
  note: () => undefined,
  aside: (ask) => ask(),
  close: async () => undefined,
}

const plainFace = (out: Pick<Terminal, 'write'>): Face => ({
  event: (before, happened) => plainLines(before, happened).forEach((line) => out.write(`${line}\n`)),
  note: (text) => void out.write(`${text}\n`),
  aside: (ask) => ask(),
  close: async () => undefined,
})

function liveFace(
  terminal: Terminal,
  tree: () => Tree,
  { colour, conversation = false, typed = null }: FaceStyle,
): Face {
  let drawing = startDrawing(terminal, tree, colour, typed)
  return {
    event: (before, happened) => {
      const lines = conversation ? plainLines(before, happened) : []
      if (lines.length > 0) drawing.screen.above(lines.join('\n'))
    },
    note: (text) => drawing.screen.above(text),
    async aside(ask) {
      await drawing.stop(false)
      try {
        return await ask()
      } finally {
        drawing = startDrawing(terminal, tree, colour, typed)
      }
    },
    close: () => drawing.stop(!conversation),
  }
}

function startDrawing(
  terminal: Terminal,
  tree: () => Tree,
  colour: boolean,
  typed: TypedLine | null,
): { screen: Screen; stop(keep: boolean): Promise<void> } {
  const screen = openScreen(terminal)
  const done = new AbortController()
  const draw = (): void => {
    const { width, rows } = screen.size()
    const below = typed === null ? [] : [typed.line(width, colour)]
    screen.draw([
      ...treeLines(withoutClients(tree()), systemClock.now(), {
        width,
        rows: Math.max(1, rows - below.length),
        colour,
      }),
      ...below,
    ])
  }
  const release = typed?.onChange(draw)
  const drawing = (async () => {
    while (!done.signal.aborted) {
      draw()
      await systemClock.sleep(spinnerMs, done.signal).catch(() => undefined)
    }
  })()
  return {
    screen,
    async stop(keep) {
      release?.()
      done.abort()
      await drawing
      if (keep) draw()
      else screen.draw([])
      screen.close()
    },
  }
}
