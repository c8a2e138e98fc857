/** How work is shown while it happens: a tree that is redrawn in place, plain lines, both, or nothing. */
import { externalAgent } from '../../model/agent.ts'
import { toTurnId } from '../../model/id.ts'
import { explain } from '../../model/refusal.ts'
import { preview } from '../../model/text.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { TypedLine } from '../chat/typing.ts'
import { openScreen, type Screen } from './screen.ts'
import type { Terminal } from './terminal.ts'
import { renderTree, spinnerMs } from './tree-lines.ts'
import { withoutClients, type Happened, type Tree } from './tree.ts'
import { oneLine } from './width.ts'

export type Face = {
  /** `before` is the tree without the event. */
  event(before: Tree, happened: Happened): void
  /** Prints a text that does not belong to the tree. */
  note(text: string): void
  /** Clears what is drawn while a person is asked something. */
  aside<T>(ask: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

export type FaceStyle = {
  live: boolean
  colour: boolean
  /** Keeps calls as lines and clears the tree after each turn; otherwise the last tree stays. */
  conversation?: boolean
  /** What the user types meanwhile, drawn below everything else. */
  typed?: TypedLine | null
}

export function openFace(out: Terminal | null, tree: () => Tree, style: FaceStyle): Face {
  if (out === null) return silentFace
  return style.live ? openLiveFace(out, tree, style) : openPlainFace(out)
}

export const silentFace: Face = {
  event: () => undefined,
  note: () => undefined,
  aside: (ask) => ask(),
  close: async () => undefined,
}

const openPlainFace = (out: Pick<Terminal, 'write'>): Face => ({
  ...silentFace,
  event: (before, happened) => renderCalls(before, happened).forEach((line) => out.write(`${line}\n`)),
  note: (text) => void out.write(`${text}\n`),
})

function openLiveFace(terminal: Terminal, tree: () => Tree, style: FaceStyle): Face {
  const { conversation = false } = style
  let drawing = startDrawing(terminal, tree, style)
  return {
    event(before, happened) {
      const lines = conversation ? renderCalls(before, happened) : []
      if (lines.length > 0) drawing.screen.above(lines.join('\n'))
    },
    note: (text) => drawing.screen.above(text),
    async aside(ask) {
      await drawing.stop(false)
      try {
        return await ask()
      } finally {
        drawing = startDrawing(terminal, tree, style)
      }
    },
    close: () => drawing.stop(!conversation),
  }
}

function startDrawing(
  terminal: Terminal,
  tree: () => Tree,
  { colour, typed = null }: FaceStyle,
): { screen: Screen; stop(keep: boolean): Promise<void> } {
  const screen = openScreen(terminal)
  const done = new AbortController()
  const draw = (): void => {
    const { width, rows } = screen.size()
    const below = typed === null ? [] : [typed.line(width, colour)]
    const view = { width, rows: Math.max(1, rows - below.length), colour }
    screen.draw([...renderTree(withoutClients(tree()), systemClock.now(), view), ...below])
  }
  const unsubscribe = typed?.onChange(draw)
  const drawing = (async () => {
    while (!done.signal.aborted) {
      draw()
      await systemClock.sleep(spinnerMs, done.signal).catch(() => undefined)
    }
  })()
  return {
    screen,
    async stop(keep) {
      unsubscribe?.()
      done.abort()
      await drawing
      if (keep) draw()
      else screen.draw([])
      screen.close()
    },
  }
}

const taskPointsMax = 200

/** Calls as plain lines, for pipes and logs. Pure: `tree` is as it was before the event. */
export function renderCalls(tree: Tree, { event }: Happened): string[] {
  const opened = (agent: string, task: string): string =>
    `${nameCaller(tree.nodes.get(event.turn ?? '')?.agent)} calling ${oneLine(agent)} with task: ${shorten(task)}`
  const ended = (agent: string, success: boolean, tokens: number, ms: number): string =>
    `${oneLine(agent)} returned: ${success ? 'SUCCESS' : 'FAILED'} (${tokens} tokens, ${Math.round(ms / 1000)}s)`
  const failed = (error: string): string => `  Error: ${oneLine(error)}`
  if (event.type === 'call.opened') return [opened(event.grant.agent, event.task)]
  if (event.type === 'call.refused')
    return [opened(event.agent, event.task), ended(event.agent, false, 0, 0), failed(explain(event.refusal))]
  if (event.type !== 'call.ended') return []
  const agent = tree.nodes.get(toTurnId(event.call))?.agent ?? event.target
  const { outcome, tokensUsed, endedAt, openedAt, toolCalls, errors } = event
  return [
    ended(agent, outcome === 'completed', tokensUsed, endedAt - openedAt),
    ...(toolCalls.length === 0 ? [] : [`  Tools used: ${toolCalls.join(', ')}`]),
    ...errors.map(failed),
  ]
}

function shorten(task: string): string {
  const line = oneLine(task)
  const cut = preview(line, taskPointsMax)
  return cut.length === line.length ? line : `${cut}…`
}

/** The session of this command calls for the person who typed it. */
const nameCaller = (agent = 'somebody'): string => (agent === externalAgent.name ? 'you' : agent)
