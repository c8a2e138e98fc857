/**
 * The description of the API, made from the routes' own schemas, and a page to try it that needs no network.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { RouteOptions } from 'fastify'
import { packageDir } from '../own-files.ts'
import { securityHeaders } from './response-headers.ts'
import type { App } from './route.ts'

/**
 * Before any route: it listens to what is registered. What makes the description of it is loaded when
 * somebody first asks.
 */
export function describeApi(app: App, version: string): () => Promise<string> {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route as unknown as RouteOptions))
  let described: Promise<string> | null = null
  return () =>
    (described ??= import('./api-description.ts').then(({ buildApiDescription }) =>
      buildApiDescription(routes, version),
    ))
}

/** What the page loads; the files come with the package, and are read when somebody first looks. */
const assets: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}
const built = join(packageDir, 'dist', 'api-page')
const assetDirectory = (): string =>
  existsSync(built)
    ? built
    : join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')), 'static')

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tieline API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
`
const script =
  "SwaggerUIBundle({ url: '/openapi.json', dom_id: '#swagger-ui', deepLinking: true, validatorUrl: null })\n"

export function docsRoutes(app: App, describe: () => Promise<string>): void {
  const open = { config: { public: true }, schema: { hide: true } as object }
  app.get('/openapi.json', open, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(await describe()),
  )
  for (const path of ['/docs', '/docs/'])
    app.get(path, open, async (_request, reply) =>
      reply.headers(securityHeaders.docs).type('text/html; charset=utf-8').send(page),
    )
  app.get('/docs/start.js', open, async (_request, reply) =>
    reply.headers(securityHeaders.docs).type('text/javascript; charset=utf-8').send(script),
  )
  const read = new Map<string, Promise<Buffer>>()
  for (const [name, type] of Object.entries(assets)) {
    app.get(`/docs/${name}`, open, async (_request, reply) => {
      const file = read.get(name) ?? readFile(join(assetDirectory(), name))
      read.set(name, file)
      return reply
        .headers(securityHeaders.docs)
        .type(type)
        .send(await file)
    })
  }
}
