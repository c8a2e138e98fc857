/** JSON-RPC with Codex's app-server, over WebSocket on its Unix socket. It leaves out `jsonrpc`. */
import { lstat, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { WebSocket } from 'ws'
import { ownLimits, parseJson } from '../../model/bounded-json.ts'
import { listen } from '../../model/contained.ts'
import { isRefusal } from '../../model/refusal.ts'
import { isRecord, textAt, type Json } from '../../model/json.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'

const answerMsMax = 10_000
const frameBytesMax = 16 * 1024 * 1024
/** A conversation may be long. */
const frameLimits = { ...ownLimits, bytesMax: frameBytesMax }
const othersMayWrite = 0o022

export type CodexRpc = {
  ask(method: string, params: Json): Promise<Json>
  notify(method: string): void
  /** Settles when the connection is over. */
  closed: Promise<void>
  close(): void
}

/**
 * Where a daemon of this user listens, or null. Its directory is in a place that everybody may write to, so it
 * counts only where the user owns both, and nobody else may put another socket there.
 */
export async function findCodexSocket(codexHome: string, uid: number): Promise<string | null> {
  try {
    const path = await realpath(join(codexHome, 'app-server-control', 'app-server-control.sock'))
    const [socket, folder] = [await lstat(path), await lstat(dirname(path))]
    const isOurs = socket.isSocket() && socket.uid === uid && folder.uid === uid
    return isOurs && (folder.mode & othersMayWrite) === 0 ? path : null
  } catch {
    // No Codex, or none that has a terminal open.
    return null
  }
}

export function connectCodex(
  path: string,
  sleep: Clock['sleep'],
  onNotice: (method: string, params: Json) => void,
): Promise<CodexRpc> {
  const ws = new WebSocket(`ws+unix://${path}:/`, { maxPayload: frameBytesMax })
  type Asked = { resolve: (value: Json) => void; reject: (error: Error) => void }
  const waiting = new Map<number, Asked>()
  const opened = Promise.withResolvers<CodexRpc>()
  const closed = Promise.withResolvers<void>()
  const fail = (fault: unknown): void => {
    opened.reject(fault instanceof Error ? fault : new Error(String(fault)))
    for (const { reject } of waiting.values()) reject(new Error('Codex has gone'))
    waiting.clear()
    ws.terminate()
    closed.resolve()
  }
  let last = 0
  const rpc: CodexRpc = {
    async ask(method, params) {
      last += 1
      const id = last
      const { promise, resolve, reject } = Promise.withResolvers<Json>()
      waiting.set(id, { resolve, reject })
      ws.send(JSON.stringify({ id, method, params }))
      const answered = new AbortController()
      const late = sleep(answerMsMax, answered.signal).then(() => {
        throw new Error(`Codex did not answer ${method}`)
      })
      try {
        return await Promise.race([promise, late])
      } finally {
        late.catch(() => undefined)
        // A timer that goes on would keep the process that asked.
        answered.abort()
        waiting.delete(id)
      }
    },
    notify: (method) => ws.send(JSON.stringify({ method })),
    closed: closed.promise,
    close: () => ws.terminate(),
  }
  listen(ws, 'open', fail, () => opened.resolve(rpc))
  listen(ws, 'error', fail, fail)
  listen(ws, 'close', fail, () => fail(new Error('Codex has gone')))
  listen(ws, 'message', fail, (data: Buffer) => {
    const parsed = parseJson(data.toString('utf8'), 'frame', frameLimits)
    if (isRefusal(parsed) || !isRecord(parsed.value)) return
    const { id, method, params, result, error } = parsed.value as { [name: string]: Json }
    const asked = typeof id === 'number' && method === undefined ? waiting.get(id) : undefined
    if (asked !== undefined)
      return error === undefined
        ? asked.resolve(result ?? null)
        : asked.reject(new Error(textAt(error, 'message')))
    // What it asks of a client, such as leave to run a command, its terminal answers.
    if (typeof method === 'string' && id === undefined) onNotice(method, params ?? null)
  })
  return opened.promise
}
