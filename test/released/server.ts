/** The server of a release as a process of its own, and a client for its public addresses. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'

// oxlint-disable-next-line typescript/no-explicit-any -- what another version answered is only compared
export type Body = any
export type Answer = { status: number; type: string; body: Body }
export type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>
export type ReleasedServer = { url: string; end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> }

const waitMsMax = 30_000

/** Works in `/tmp` and knows nothing of its user, so that nothing of this machine enters the log. */
export async function startReleased(main: string, directory: string): Promise<ReleasedServer> {
  const place = ['--config', `${directory}/tieline.toml`, '--data-dir', `${directory}/data`]
  const child = spawn(process.execPath, [main, 'serve', '--json', ...place], {
    cwd: '/tmp',
    env: { PATH: process.env['PATH'], HOME: `${directory}/home`, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const ended = once(child, 'close')
  return {
    url: (JSON.parse(line.toString()) as { url: string }).url,
    async end(signal) {
      child.kill(signal)
      await ended
    },
  }
}

/** A client with a token. A header that is given wins over its own. */
export const createAsk =
  (url: string, token: string): Ask =>
  async (method, path, body, headers = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'user-agent': 'released/1.0',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(waitMsMax),
    })
    const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? ''
    const text = await response.text()
    return { status: response.status, type, body: type === 'application/json' ? JSON.parse(text) : text }
  }

export async function waitUntil(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + waitMsMax; !(await holds()); await pause(20))
    if (Date.now() > end) throw new Error(`waited too long: ${what}`)
}
