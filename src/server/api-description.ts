/**
 * The description of the API in OpenAPI, made from the schemas of routes in an app of their own that nobody
 * reaches.
 */
import swagger from '@fastify/swagger'
import { fastify, type RouteOptions } from 'fastify'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'

/** Every POST takes it, and checks it itself. */
const retryHeader = {
  type: 'object',
  properties: {
    'Idempotency-Key': {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      description:
        'the same key again is the same act: it has one effect, and the answer of the first try, also ' +
        'after a crash of the server',
    },
  },
}

export async function buildApiDescription(routes: readonly RouteOptions[], version: string): Promise<string> {
  const app = fastify({ logger: false, exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => () => '')
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tieline',
        version,
        description:
          'The line between LLM agents: sessions, messages, calls and one log of events. Every error has ' +
          'the same shape; ids may be a unique part of an id; a POST with an Idempotency-Key may be ' +
          'repeated.',
      },
      components: {
        securitySchemes: {
          token: {
            type: 'http',
            scheme: 'bearer',
            description:
              'the token of the server, of a session (tls_…) or of a turn (tlt_…); not needed on a loopback ' +
              'server without tokens',
          },
        },
      },
      security: [{ token: [] }],
    },
    transform(route) {
      const described = jsonSchemaTransform(route)
      return route.route.method === 'POST' && described.schema !== undefined
        ? { ...described, schema: { ...described.schema, headers: retryHeader } }
        : described
    },
    transformObject: jsonSchemaTransformObject,
  })
  // HEAD is there wherever GET is, and needs no words.
  for (const { method, url, schema, config } of routes)
    if (method !== 'HEAD')
      app.route({
        method,
        url,
        ...(schema === undefined ? {} : { schema }),
        ...(config === undefined ? {} : { config }),
        handler: () => undefined,
      })
  await app.ready()
  const text = JSON.stringify(withoutUnused(app.swagger()))
  await app.close()
  return text
}

type Described = ReturnType<ReturnType<typeof fastify>['swagger']>

/** Each named shape is described as it comes in and as it goes out, whether anybody uses it or not. */
function withoutUnused(document: Described): Described {
  const shapes =
    (document as { components?: { schemas?: Record<string, unknown> } }).components?.schemas ?? {}
  for (let removed = -1; removed !== 0;) {
    const text = JSON.stringify(document)
    const unused = Object.keys(shapes).filter((name) => !text.includes(`"#/components/schemas/${name}"`))
    for (const name of unused) delete shapes[name]
    removed = unused.length
  }
  return document
}
