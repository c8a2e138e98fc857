/**
 * What `tieline mcp` answers by itself, because it is the same for everybody: a client that begins its first
 * turn without waiting has the tools in it, although no server runs yet. The protocol's library is not loaded
 * for that; a test compares these answers with those of the server's own door.
 */
import { isRecord } from '../../model/json.ts'
import { instructions, serverCapabilities, serverInfo } from './server-facts.ts'

type Fields = { [name: string]: unknown }

const versionKey = 'io.modelcontextprotocol/protocolVersion'
const infoKey = 'io.modelcontextprotocol/serverInfo'
/** Revisions with a handshake; a client that asks for another is offered the newest. */
const withHandshake = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const
const withoutHandshake = '2026-07-28'

/** Null for what only a server can answer. */
export function answerConstant(
  { method, params }: { method?: string; params?: Fields },
  version: string,
): Fields | null {
  if (method === 'initialize') {
    const asked = withHandshake.find((known) => known === params?.['protocolVersion'])
    return {
      protocolVersion: asked ?? withHandshake[0],
      capabilities: serverCapabilities,
      serverInfo: serverInfo(version),
      instructions,
    }
  }
  if (method === 'ping' && !isModern(params)) return {}
  if (method === 'server/discover' && isModern(params))
    return complete(
      { supportedVersions: [withoutHandshake], capabilities: serverCapabilities, instructions },
      version,
    )
  return null
}

/** The list of tools as the server's own door answers it. */
export const answerTools = (tools: readonly object[], params: Fields | undefined, version: string): Fields =>
  isModern(params) ? complete({ tools }, version) : { tools }

function isModern(params: Fields | undefined): boolean {
  const meta = params?.['_meta']
  return isRecord(meta) && meta[versionKey] === withoutHandshake
}

const complete = (fields: Fields, version: string): Fields => ({
  ...fields,
  resultType: 'complete',
  ttlMs: 0,
  cacheScope: 'private',
  _meta: { [infoKey]: serverInfo(version) },
})
