/**
 * `/`: the page, read into memory at the start, so that no path of a request ever reaches the disk; without
 * one, a few words on what runs here.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { securityHeaders } from './response-headers.ts'
import type { App, Deps } from './route.ts'

type File = {
  type: string
  body: Buffer
  etag: string
  /** Named after its content: it never changes. */
  fixed: boolean
}

const pageBytesMax = 64 * 1024 * 1024

const contentType: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
  '.ico': 'image/x-icon',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  '.txt': 'text/plain; charset=utf-8',
}

export function pageRoutes(app: App, { version }: Deps, pageDir: string | null): void {
  const files = pageDir === null ? new Map<string, File>() : filesIn(pageDir)
  if (!files.has('/')) files.set('/', findFile('index.html', Buffer.from(barePage(version))))
  for (const [path, file] of files) {
    app.get(path, { config: { public: true }, schema: { hide: true } as object }, async (request, reply) => {
      void reply.headers(securityHeaders.page).header('etag', file.etag).type(file.type)
      if (file.fixed) void reply.header('cache-control', 'public, max-age=31536000, immutable')
      if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
      return reply.send(file.body)
    })
  }
}

function filesIn(directory: string): Map<string, File> {
  const files = new Map<string, File>()
  let bytes = 0
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    bytes += statSync(path).size
    if (bytes > pageBytesMax) throw new Error(`the page in ${directory} has more than ${pageBytesMax} bytes`)
    const name = relative(directory, path).split(sep).join('/')
    // A router reads these as patterns.
    if (/[:*]/.test(name)) continue
    files.set(name === 'index.html' ? '/' : `/${name}`, findFile(name, readFileSync(path)))
  }
  return files
}

const findFile = (name: string, body: Buffer): File => ({
  type: contentType[extname(name).toLowerCase()] ?? 'application/octet-stream',
  body,
  etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
  fixed: /-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$/.test(name) && name.includes('/'),
})

const barePage = (version: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tieline</title>
<h1>Tieline ${version}</h1>
<p>The server runs. This build has no page.</p>
<ul>
<li><a href="/docs/">Try the API</a></li>
<li><a href="/openapi.json">Its description (OpenAPI)</a></li>
<li><a href="/health">Health</a></li>
</ul>
</html>
`
