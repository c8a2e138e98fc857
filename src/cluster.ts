/**
 * A node among others: which turns it may run, what it says of itself, and the text that agents stream on other
 * nodes. On one machine with a store of its own there is nothing of this.
 */
import { hostname } from 'node:os'
import type { NodeSettings } from './config-keys.ts'
import type { Agent } from './model/agent.ts'
import type { Millis } from './model/id.ts'
import { refuseDirectory } from './runtime/kernel/is-directory.ts'
import type { Clock } from './runtime/kernel/ports.ts'
import type { Place } from './runtime/kernel/runtime.ts'
import type { Delta } from './wire/log.ts'
import type { NodeView } from './wire/server.ts'
import type { Runtime } from './runtime/sessions/runtime.ts'
import type { PostgresStore } from './store/postgres/postgres.ts'
import { version } from './version.ts'

/** The database's time, so that all nodes mean the same by a deadline. */
export const clusterClock = (clock: Clock, cluster: PostgresStore | null): Clock =>
  cluster === null ? clock : { ...clock, now: (): Millis => cluster.now() }

const lookedAtMs = 2000
/** Who reads while the database says nothing waits no longer than this. */
const lookMsMax = 500
const knownMax = 10_000

/** A session runs where its directory is, and its agent's label. Directories come and go, so it looks again. */
function nodePlace({ labels }: NodeSettings, clock: Clock, cluster: PostgresStore): Place {
  const known = new Map<string, { isThere: boolean; at: Millis }>()
  const hasDirectory = (cwd: string): boolean => {
    const seen = known.get(cwd)
    if (seen !== undefined && clock.elapsed() - seen.at < lookedAtMs) return seen.isThere
    if (known.size >= knownMax) known.clear()
    const isThere = refuseDirectory(cwd) === null
    known.set(cwd, { isThere, at: clock.elapsed() })
    return isThere
  }
  return {
    nodes: () => listNodes(cluster),
    async catchUp() {
      if (cluster.health().state !== 'ok') return
      const over = new AbortController()
      const looked = cluster.look().catch(() => undefined) // Then what is here has to do.
      await Promise.race([looked, clock.sleep(lookMsMax, over.signal).catch(() => undefined)])
      over.abort()
    },
    mayRun: (agent: Agent | undefined, cwd) =>
      (agent?.runsOn === undefined || labels.includes(agent.runsOn)) && hasDirectory(cwd),
  }
}

/** This node, and the store that it shares; null where it shares none. */
export type OwnNode = { cluster: PostgresStore | null; clock: Clock; settings: NodeSettings | undefined }

export const nodePorts = (
  { cluster, clock, settings = alone }: OwnNode,
  leaseMs: number | undefined,
): Pick<Runtime, 'place' | 'leaseMs'> => ({
  ...(leaseMs === undefined ? {} : { leaseMs }),
  ...(cluster === null ? {} : { place: nodePlace(settings, clock, cluster) }),
})

const alone: NodeSettings = { labels: [] }

type About = Omit<NodeView, 'id' | 'until' | 'alive'>

/** Those that said something in the last hour, in the order of their names. */
async function listNodes(cluster: PostgresStore): Promise<NodeView[]> {
  const now = cluster.now()
  const nodes = (await cluster.nodes()).flatMap(({ id, until, about }): NodeView[] => {
    if (about === null || until < now - shownMs) return []
    return [{ id, until, alive: until > now, ...(JSON.parse(about) as About) }]
  })
  return nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

const shownMs = 3_600_000

/** Beats with what it does, and passes on what agents say while somebody listens elsewhere. */
export function joinCluster(
  { cluster, settings: { name = hostname(), labels } = alone }: OwnNode,
  runtime: Runtime,
  url: () => string | null,
): () => void {
  if (cluster === null) return () => undefined
  const startedAt = runtime.clock.now()
  cluster.setAbout(() => {
    const about: About = { name, labels, version, url: url(), running: runtime.running.size, startedAt }
    return JSON.stringify(about)
  })
  return shareText(cluster, runtime)
}

/** So long after somebody said that they listen, text is passed on. */
const listenMs = 5000
const listenAgainMs = 2000
const flushMs = 30
const textMax = 2000

type Words = { listen: true } | { delta: Delta }

/**
 * Text crosses nodes only while somebody there listens, and what comes within a moment goes as one. It may be
 * lost: the whole text comes with the event that ends the step.
 */
function shareText(cluster: PostgresStore, runtime: Runtime): () => void {
  let wantedUntil = -Infinity
  let askedAt = -Infinity
  const waiting = new Map<string, Delta>()
  const say = (words: Words): void => cluster.say(JSON.stringify(words))
  const flush = (): void => {
    for (const delta of waiting.values()) for (const part of split(delta)) say({ delta: part })
    waiting.clear()
  }
  const onDelta = (delta: Delta): void => {
    if (runtime.clock.elapsed() > wantedUntil) return
    const known = waiting.get(delta.turn)
    if (waiting.size === 0) runtime.alarm.after(flushMs, flush)
    if (known?.step !== delta.step || known.epoch !== delta.epoch) waiting.set(delta.turn, { ...delta })
    else {
      known.text += delta.text
      if (delta.remark === undefined) delete known.remark
      else known.remark = delta.remark
    }
  }
  const ask = (): void => {
    // This listener is one of ours; any other one belongs to somebody who watches.
    const own = runtime.deltaListeners.has(onDelta) ? 1 : 0
    if (runtime.deltaListeners.size <= own || runtime.clock.elapsed() - askedAt < listenAgainMs) return
    askedAt = runtime.clock.elapsed()
    say({ listen: true })
  }
  const hear = (words: Words): void => {
    if ('listen' in words) {
      wantedUntil = runtime.clock.elapsed() + listenMs
      runtime.deltaListeners.add(onDelta)
    } else for (const listener of runtime.deltaListeners) if (listener !== onDelta) listener(words.delta)
  }
  const deaf = cluster.onWords((text) => {
    try {
      hear(JSON.parse(text) as Words)
    } catch (fault) {
      runtime.report(fault)
    }
  })
  const stopHints = runtime.store.onHint(() => ask())
  let isOver = false
  const askAgain = (): void => {
    if (isOver) return
    ask()
    runtime.alarm.after(listenAgainMs, askAgain)
  }
  askAgain()
  return () => {
    isOver = true
    deaf()
    stopHints()
    runtime.deltaListeners.delete(onDelta)
  }
}

function split({ text, offset, remark, ...rest }: Delta): Delta[] {
  const parts: Delta[] = []
  for (let at = 0; at < text.length; at += textMax)
    parts.push({ ...rest, offset: offset + at, text: text.slice(at, at + textMax) })
  if (remark !== undefined) parts.push({ ...rest, offset: offset + text.length, text: '', remark })
  return parts
}
