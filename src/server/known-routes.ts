/** Which methods a path has, so that a wrong one is told from a path that does not exist. */
import type { App } from './route.ts'

export type KnownRoutes = { methodsOf(path: string): string[] }

/** Watches what is registered after it. */
export function knownRoutes(app: App): KnownRoutes {
  const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = routes.get(url) ?? { pattern: toPattern(url), methods: new Set<string>() }
    for (const one of [method].flat()) known.methods.add(one)
    routes.set(url, known)
  })
  return {
    methodsOf: (path) =>
      [
        ...new Set(
          [...routes.values()]
            .filter(({ pattern }) => pattern.test(path))
            .flatMap(({ methods }) => [...methods]),
        ),
      ].sort(),
  }
}

const toPattern = (url: string): RegExp =>
  new RegExp(
    `^${url
      .replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll(/:[A-Za-z]+/g, '[^/]+')}$`,
  )
