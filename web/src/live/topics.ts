/**
 * Who looks at what: a change is told to those alone who look at it, together with all others of the same
 * moment.
 */
import { useCallback, useSyncExternalStore } from 'react'
import { soon } from '../browser-clock.ts'

export type Topics = {
  touch(topic: string): void
  /** Tells everybody at once. */
  touchAll(): void
  subscribe(topic: string, listener: () => void): () => void
  version(topic: string): number
}

export function topics(): Topics {
  const listeners = new Map<string, Set<() => void>>()
  const versions = new Map<string, number>()
  const touched = new Set<string>()
  let planned = false
  const tell = (): void => {
    planned = false
    const now = [...touched]
    touched.clear()
    for (const topic of now) for (const listener of listeners.get(topic) ?? []) listener()
  }
  const touch = (topic: string): void => {
    versions.set(topic, (versions.get(topic) ?? 0) + 1)
    // Whoever begins to look later compares numbers.
    if (!listeners.has(topic)) return
    touched.add(topic)
    if (planned) return
    planned = true
    soon(tell)
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

/** Draws its component again when the topic changes. The answer is a number that grows. */
export function useTopic(of: Topics, topic: string): number {
  const subscribe = useCallback((listener: () => void) => of.subscribe(topic, listener), [of, topic])
  return useSyncExternalStore(subscribe, () => of.version(topic))
}
