import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findNamedServer } from './reach.ts'

test('the token of this machine is for its own server, and is not shown to any other that is named', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-reach-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const seen: (string | undefined)[] = []
  const http = createServer((request, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(() => void http.close())
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  writeFileSync(join(dataDir, 'token'), 'hush\n', { mode: 0o600 })
  const reach = async (own: string): Promise<void> => {
    writeFileSync(join(dataDir, 'server.json'), JSON.stringify({ url: own, pid: null }), { mode: 0o600 })
    const flags = { server: url, 'data-dir': dataDir }
    await findNamedServer({ flags, env: {}, signal: new AbortController().signal })
  }
  await reach('http://127.0.0.1:1')
  await reach(url)
  expect(seen).toEqual([undefined, 'Bearer hush'])
})
