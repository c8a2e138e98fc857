/**
 * A real MCP server for the tests of what talks to one: over stdio, or over HTTP with `--http`, where it
 * prints its port.
 */
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
/** What happened here, for the test to read. */
const note = (line: string): void => {
  if (process.env['NOTES'] !== undefined) appendFileSync(process.env['NOTES'], `${line}\n`)
}

function server(): McpServer {
  const mcp = new McpServer({ name: 'test', version: '1.0.0' })
  mcp.registerTool(
    'echo',
    {
      description: 'Says it again',
      inputSchema: z.object({ text: z.string() }),
      annotations: { readOnlyHint: true, idempotentHint: true },
    },
    async (input) => text(input.text),
  )
  mcp.registerTool(
    'add',
    { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
    async ({ a, b }) => ({
      content: [
        { type: 'text', text: 'the sum' },
        { type: 'image', mimeType: 'image/png', data: 'AAAA' },
        { type: 'text', text: `is ${a + b}` },
      ],
      structuredContent: { sum: a + b },
    }),
  )
  mcp.registerTool('fail', {}, async () => ({ ...text('it went wrong'), isError: true }))
  mcp.registerTool('env', {}, async () => text(JSON.stringify(process.env)))
  mcp.registerTool('odd.name', {}, async () => text('odd'))
  mcp.registerTool('n'.repeat(80), {}, async () => text('long'))
  mcp.registerTool(
    'slow',
    {},
    (ctx) =>
      new Promise((resolve) => {
        note('slow started')
        ctx.mcpReq.signal.addEventListener('abort', () => {
          note('slow cancelled')
          resolve(text('cancelled'))
        })
      }),
  )
  mcp.registerTool('grow', {}, async () => {
    mcp.registerTool('grown', {}, async () => text('new'))
    return text('grown')
  })
  mcp.registerTool('die', {}, async () => process.exit(3))
  // A helper that holds our pipes and does not end by itself, as the shims of npm leave one behind.
  mcp.registerTool('helper', {}, async () =>
    text(String(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' }).pid)),
  )
  mcp.registerTool('pid', {}, async () => text(String(process.pid)))
  return mcp
}

if (process.argv.includes('--http')) {
  const handler = createMcpHandler(server)
  const http = createServer((request, response) => {
    void (async () => {
      if (request.headers['x-key'] !== process.env['KEY']) return response.writeHead(401).end()
      const left = new AbortController()
      response.on('close', () => left.abort())
      const body = await new Response(request as unknown as ReadableStream).text()
      const answer = await handler.fetch(
        new Request(`http://127.0.0.1${request.url}`, {
          method: request.method ?? 'GET',
          headers: request.headers as Record<string, string>,
          signal: left.signal,
          ...(body === '' ? {} : { body }),
        }),
      )
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      for await (const chunk of answer.body ?? []) response.write(chunk)
      return response.end()
    })().catch((error: unknown) => {
      note(`http: ${String(error)}`)
      response.destroy()
    })
  })
  http.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', () =>
    console.log((http.address() as { port: number }).port),
  )
} else {
  if (process.argv.includes('--stuck')) process.on('SIGTERM', () => note('not yet'))
  console.error('about to serve')
  if (process.argv.includes('--broken')) process.exit(4)
  serveStdio(server)
  if (process.argv.includes('--stuck')) setInterval(() => {}, 1000)
}
