/**
 * Who a client is that carries no token: its program, its conversation where it tells, and its directory. All
 * of it is said by the client, so it names an external session and gives no right.
 */
import { hash } from 'node:crypto'
import { basename, isAbsolute } from 'node:path'
import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { clientMetaKey, type ClientMeta } from './client-meta.ts'

export const clientSessionHeader = 'x-tieline-client-session'
export const cwdHeader = 'x-tieline-cwd'

const SaidByProcess = z.object({
  name: z.string().optional(),
  session: z.string().optional(),
  cwd: z.string().optional(),
}) satisfies z.ZodType<ClientMeta>

/** Codex says in which thread a call is made; a session of it may have several. */
const CallerMeta = z.object({
  threadId: z.string().optional(),
  sessionId: z.string().optional(),
  [clientMetaKey]: SaidByProcess.optional(),
})

/** Clients of the 2026 revision name themselves in every request. */
const Envelope = z.object({ [CLIENT_INFO_META_KEY]: z.object({ name: z.string() }) })

const Trace = z.object({ traceparent: z.string() })

const nameUnitsMax = 40
const conversationUnitsMax = 50
const pathUnitsMax = 4096

export type Said = {
  meta: unknown
  headers: Headers
  /** From the envelope of a request, or from the handshake. */
  program: string | null
}

/**
 * A program without a conversation is told apart by its directory: what it asks for works there, and not
 * where it was first seen.
 */
export function describeClient({ meta, headers, program }: Said, cwd: string): { name: string; cwd: string } {
  const said: z.infer<typeof CallerMeta> = CallerMeta.safeParse(meta).data ?? {}
  const own = said[clientMetaKey] ?? {}
  const directory = [own.cwd, pathIn(headers.get(cwdHeader))].find(isPath)
  const conversation = [
    own.session,
    headers.get(clientSessionHeader) ?? undefined,
    said.threadId,
    said.sessionId,
  ]
    .map((text) => short(text ?? ''))
    .find((text) => text !== '')
  const which =
    conversation ??
    (directory === undefined || directory === cwd
      ? ''
      : `${plainName(basename(directory))}-${digest(directory)}`)
  const name = plainName(own.name ?? program ?? '') || 'mcp'
  return { name: which === '' ? name : `${name}_${which}`, cwd: directory ?? cwd }
}

/** Names end up in ids, titles and logs. */
export const plainName = (text: string): string => plain(text).slice(0, nameUnitsMax)

const plain = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
const digest = (text: string): string => hash('sha256', text).slice(0, 12)

/** Two that differ only at their end stay two. */
function short(conversation: string): string {
  const text = plain(conversation)
  return text.length <= conversationUnitsMax
    ? text
    : `${text.slice(0, conversationUnitsMax - 13)}-${digest(conversation)}`
}

const isPath = (path: string | undefined): path is string =>
  path !== undefined && path.length <= pathUnitsMax && isAbsolute(path) && !path.includes('\0')

/** Headers hold no more than Latin letters, so a path comes percent-encoded. */
function pathIn(header: string | null): string | undefined {
  try {
    return header === null ? undefined : decodeURIComponent(header)
  } catch {
    // Not encoded, and with a percent sign of its own: taken as it is.
    return header ?? undefined
  }
}

export const findProgram = (envelope: unknown): string | undefined =>
  Envelope.safeParse(envelope).data?.[CLIENT_INFO_META_KEY].name

export const findTrace = (meta: unknown): string | null => Trace.safeParse(meta).data?.traceparent ?? null

/**
 * Clients of the 2025 revision name themselves once, in a handshake, and then repeat an id. Ours carries the
 * name, so that nothing has to be remembered here:
 * a restart of the server loses no client, and no client fills its memory.
 */
export const connectionId = (program: string, id: string): string => `${plainName(program) || 'mcp'}.${id}`

export function programIn(connection: string | null): string | null {
  const end = connection?.lastIndexOf('.') ?? -1
  return connection === null || end <= 0 ? null : connection.slice(0, end)
}
