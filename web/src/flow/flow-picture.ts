/** A flow as it is drawn: a bar for each turn, and what happened in it. */
import type { Event, EventOf, OpeningMessage, Outcome } from '../../../src/model/event.ts'
import type { CostView } from '../../../src/wire/scalars.ts'
import { noCost } from '../live/session-cost.ts'

export type Segment = {
  kind: 'model' | 'tool' | 'call' | 'wait' | 'question'
  name: string
  from: number
  to: number | null
  ok: boolean
  key: string
}

/** One turn of the flow, or a call that was refused before it became one. */
export type Bar = {
  id: string
  call: string | null
  session: string
  agent: string
  parent: string | null
  depth: number
  tool: string
  text: string
  openedAt: number
  startedAt: number | null
  endedAt: number | null
  deadline: number | null
  outcome: Outcome | null
  error: string | null
  tokens: number
  /** Of its own requests, as far as they are steps. */
  cost: CostView
  segments: Segment[]
  /** What the model said in its steps so far. */
  said: string[]
  opened: EventOf<'call.opened'> | OpeningMessage | null
  refused: EventOf<'call.refused'> | null
  ended: EventOf<'call.ended'> | null
  turnEnded: EventOf<'turn.ended'> | null
  stopping: boolean
}

export type FlowPicture = {
  bars: Map<string, Bar>
  root: Bar | null
  from: number
  to: number
  tokens: number
  tokensMax: number | null
  cost: CostView
  nanoUsdMax: number | null
  open: number
}

export const createBar = (id: string, event: Event, at: number): Bar => ({
  id,
  call: null,
  session: event.session,
  agent: '',
  parent: null,
  depth: 0,
  tool: '',
  text: '',
  openedAt: at,
  startedAt: null,
  endedAt: null,
  deadline: null,
  outcome: null,
  error: null,
  tokens: 0,
  cost: noCost,
  segments: [],
  said: [],
  opened: null,
  refused: null,
  ended: null,
  turnEnded: null,
  stopping: false,
})

/** Everything that has not ended below a turn: it ends with it. */
export function listOpenBelow(bars: FlowPicture['bars'], above: string): Bar[] {
  const own = [...bars.values()].filter((bar) => bar.parent === above && bar.call !== null)
  return own.flatMap((bar) => [...(bar.endedAt === null ? [bar] : []), ...listOpenBelow(bars, bar.id)])
}

/** Callers come before their callees, in the order in which they were opened. */
export function orderBars({ bars }: FlowPicture): { bar: Bar; level: number }[] {
  const below = new Map<string | null, Bar[]>()
  for (const bar of bars.values()) {
    const parent = bar.parent !== null && bars.has(bar.parent) ? bar.parent : null
    below.set(parent, [...(below.get(parent) ?? []), bar])
  }
  const rows: { bar: Bar; level: number }[] = []
  const add = (parent: string | null, level: number): void => {
    for (const bar of below.get(parent) ?? []) {
      rows.push({ bar, level })
      if (bar.id !== parent) add(bar.id, level + 1)
    }
  }
  add(null, 0)
  return rows
}
