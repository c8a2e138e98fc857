/**
 * What components subscribe to. A change notifies only the components that show its topic, batched with all
 * other changes before the next frame.
 */
import { runSoon } from '../browser-clock.ts'

export type Topics = {
  touch(topic: string): void
  /** Notifies every subscriber. */
  touchAll(): void
  subscribe(topic: string, listener: () => void): () => void
  version(topic: string): number
}

export function createTopics(): Topics {
  const listeners = new Map<string, Set<() => void>>()
  const versions = new Map<string, number>()
  const touched = new Set<string>()
  let planned = false
  const notify = (): void => {
    planned = false
    const now = [...touched]
    touched.clear()
    for (const topic of now) for (const listener of listeners.get(topic) ?? []) listener()
  }
  const touch = (topic: string): void => {
    versions.set(topic, (versions.get(topic) ?? 0) + 1)
    // Without a subscriber the version is enough: a component that mounts later reads it.
    if (!listeners.has(topic)) return
    touched.add(topic)
    if (planned) return
    planned = true
    runSoon(notify)
  }
  return {
    touch,
    touchAll: () => [...listeners.keys()].forEach(touch),
    subscribe(topic, listener) {
      const known = listeners.get(topic) ?? new Set()
      listeners.set(topic, known.add(listener))
      return () => {
        known.delete(listener)
        if (known.size > 0) return
        listeners.delete(topic)
      }
    },
    version: (topic) => versions.get(topic) ?? 0,
  }
}
