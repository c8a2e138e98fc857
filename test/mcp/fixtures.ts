/**
 * The tools that the protocol's own suites call by name, for a server that is tested by them. Only their
 * script hands them to the door.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  type CallToolResult,
  type ContentBlock,
  type McpHttpHandler,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server'
import type { Fixtures } from '../../src/adapters/mcp/server-factory.ts'

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const silence = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=='
const stepMs = 50

const text = (value: string): ContentBlock => ({ type: 'text', text: value })
const image: ContentBlock = { type: 'image', data: pixel, mimeType: 'image/png' }
const audio: ContentBlock = { type: 'audio', data: silence, mimeType: 'audio/wav' }
const embedded = (uri: string, mimeType: string, content: string): ContentBlock => ({
  type: 'resource',
  resource: { uri, mimeType, text: content },
})
const answer = (...content: ContentBlock[]): CallToolResult => ({ content })

/** Every keyword that a list of tools must not lose on its way. */
const wideSchema = JSON.parse(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
    }
  },
  "properties": {
    "name": { "type": "string" },
    "address": { "$ref": "#/$defs/address" },
    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
    "phone": { "type": "string" },
    "email": { "type": "string" }
  },
  "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] },
  "else": { "required": ["email"] },
  "additionalProperties": false
}`) as Tool['inputSchema']

type Run = (ctx: ServerContext, notify: McpHttpHandler['notify']) => CallToolResult | Promise<CallToolResult>

const runs: Readonly<Record<string, Run>> = {
  test_simple_text: () => answer(text('This is a simple text response for testing.')),
  test_image_content: () => answer(image),
  test_audio_content: () => answer(audio),
  test_embedded_resource: () =>
    answer(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  test_multiple_content_types: () =>
    answer(
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ),
  test_error_handling: () => ({
    ...answer(text('This tool intentionally returns an error for testing')),
    isError: true,
  }),
  json_schema_2020_12_tool: () => answer(text('ok')),
  async test_tool_with_logging(ctx) {
    for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await ctx.mcpReq.log('info', line)
      await sleep(stepMs)
    }
    return answer(text('logged'))
  },
  async test_tool_with_progress(ctx) {
    const progressToken = ctx.mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        })
      await sleep(stepMs)
    }
    return answer(text(String(progressToken)))
  },
  async test_logging_tool(ctx) {
    await ctx.mcpReq.log('info', 'only for those who asked for it')
    return answer(text('ok'))
  },
  test_missing_capability(ctx) {
    const envelope: Record<string, unknown> = { ...ctx.mcpReq.envelope }
    const declared = envelope[CLIENT_CAPABILITIES_META_KEY] as { sampling?: object } | undefined
    if (declared?.sampling === undefined)
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
    return answer(text('ok'))
  },
  test_streaming_elicitation: () => answer(text('This server never asks its client.')),
  test_trigger_tool_change(_ctx, notify) {
    notify.toolsChanged()
    return answer(text('changed'))
  },
}

const toolOf = (name: string): Tool => ({
  name,
  description: `A fixture: ${name}`,
  inputSchema: name === 'json_schema_2020_12_tool' ? wideSchema : { type: 'object', properties: {} },
})

export const mcpFixtures = (notify: McpHttpHandler['notify']): Fixtures => ({
  capabilities: { logging: {} },
  tools: Object.keys(runs).map(toolOf),
  call: async (name, ctx) => (runs[name] as Run)(ctx, notify),
})
