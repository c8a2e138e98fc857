/**
 * Who a client is that carries no token: its program, its conversation where it tells, and its directory. All
 * of it is said by the client, so it names an external session and gives no right.
 */
import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { plainName, type ClientProgram } from '../../model/client-address.ts'
import { isPath, readClientHeaders } from '../../model/client-headers.ts'
import { clientMetaKey, type ClientMeta } from './client-meta.ts'

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

export type Said = {
  meta: unknown
  headers: Headers
  /** From the envelope of a request, or from the handshake. */
  program: string | null
}

/** `connection` is the id that a client of the 2025 revision repeats. */
export function describeClient({ meta, headers, program }: Said, connection: string | null): ClientProgram {
  const said: z.infer<typeof CallerMeta> = CallerMeta.safeParse(meta).data ?? {}
  const own = said[clientMetaKey] ?? {}
  const header = readClientHeaders((name) => headers.get(name) ?? undefined)
  return {
    name: plainName(own.name ?? program ?? '') || 'mcp',
    session: [own.session, header.session, said.threadId, said.sessionId].find(
      (text) => text !== undefined && plainName(text) !== '',
    ),
    cwd: [own.cwd, header.cwd].find(isPath),
    connection: connection === null ? null : connection.slice(connection.lastIndexOf('.') + 1),
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
