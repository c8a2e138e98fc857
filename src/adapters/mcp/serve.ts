/**
 * The MCP door: our tools over streamable HTTP, for clients of the revisions 2025-11-25 and 2026-07-28 on one
 * URL. Nothing is kept between two requests but what runs. Host, Origin and tokens are checked before a request
 * comes here.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { McpHttpHandler } from '@modelcontextprotocol/server'
import type { Refusal } from '../../model/refusal.ts'
import type { Who } from '../../runtime/desk/asker.ts'
import type { Desks } from '../../runtime/desk/desk.ts'
import type { Clock, Ids } from '../../runtime/kernel/ports.ts'
import type { McpHandler } from './mcp-handler.ts'
import type { Fixtures } from './server-factory.ts'

export type McpDoorDeps = {
  desks: Desks
  clock: Clock
  ids: Ids
  version: string
  report: (fault: unknown) => void
  /** Between two signs of life of a call that blocks. */
  progressMs?: number
  fixtures?: (notify: McpHttpHandler['notify']) => Fixtures
}

/** Who sent a request. Those who may not are turned away before they come here. */
export type McpIdentity = {
  of(request: FastifyRequest): Who | Refusal
  /** Where the process behind it works, if that is known. */
  seenIn(request: FastifyRequest): string | null
}

export type McpDoor = (app: FastifyInstance, identity: McpIdentity) => Promise<void>

/**
 * The library of the protocol takes longer to load than the rest of the server, so it comes with the first
 * request.
 */
export function mcpDoor(deps: McpDoorDeps): McpDoor {
  return async (app, identity) => {
    let loading: Promise<McpHandler> | null = null
    const load = (): Promise<McpHandler> =>
      (loading ??= import('./mcp-handler.ts').then(({ mcpHandler }) => mcpHandler(deps, identity)))
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
      scope.route({
        method: ['GET', 'POST', 'DELETE'],
        url: '/mcp',
        schema: { hide: true } as object,
        handler: async (request, reply) => (await load()).handle(request, reply),
      })
    })
    app.addHook('preClose', async () => (await loading)?.close())
  }
}
