/** MCP over HTTP and over standard input. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { deep, post, type Attack, type Ending, type Family, type Target } from '../attack.ts'

const accept = { accept: 'application/json, text/event-stream' }
const call = (name: string, input: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":${input}}}`
const overHttp = (kind: string, body: (target: Target) => string): Attack => ({
  kind: `mcp: ${kind}`,
  try: (target) => post(target, '/mcp', body(target), accept),
})
const depths = [200, 5000, 100_000]

const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const initialize = (id: number, name: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name, version: '1' } },
  })

/** The program that clients start themselves, between us and the server. It ends with its input. */
function overStdio(target: Target, lines: readonly (string | Uint8Array)[]): Promise<Ending> {
  return new Promise((resolve) => {
    const args = [program, 'mcp', '--server', target.url, '--data-dir', target.dataDir]
    const child = spawn(process.execPath, args, {
      cwd: target.cwd,
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, TIELINE_HOSTILE: target.run },
    })
    let heard = ''
    const stop = (): void => void child.kill('SIGKILL')
    target.signal.addEventListener('abort', stop, { once: true })
    child.stdin.on('error', () => undefined)
    child.stdout.on('data', (chunk: Buffer) => (heard = (heard + chunk.toString('latin1')).slice(-2000)))
    child.on('error', () => resolve('cut'))
    child.on('close', () => {
      target.signal.removeEventListener('abort', stop)
      resolve(
        target.signal.aborted
          ? 'late'
          : heard.includes('"error"')
            ? 'refused'
            : heard === ''
              ? 'cut'
              : 'served',
      )
    })
    child.stdin.write(`${initialize(0, 'hostile')}\n`)
    for (const line of lines) child.stdin.write(line)
    child.stdin.end()
  })
}

export const mcp: Family = {
  name: 'mcp',
  attacks: [
    overHttp('deep arguments', ({ random }) => call('sub_agent', deep(random.pick(depths), '{"a":', '}'))),
    overHttp('deep input', ({ random }) =>
      call('sub_agent', `{"agent_name":"clerk","task":"x","input":${deep(random.pick(depths))}}`),
    ),
    overHttp(
      'deep id',
      ({ random }) => `{"jsonrpc":"2.0","id":${deep(random.pick(depths))},"method":"tools/list"}`,
    ),
    overHttp(
      'a batch of thousands',
      () =>
        `[${Array.from({ length: 3000 }, (_, n) => `{"jsonrpc":"2.0","id":${n},"method":"ping"}`).join(',')}]`,
    ),
    overHttp('unknown tools', () => call('__proto__', '{}')),
    overHttp('slow expression', () =>
      call(
        'sub_agent',
        JSON.stringify({
          agent_name: 'echo',
          task: `"${'a'.repeat(60)}!"`,
          output_schema: { type: 'string', pattern: '^(a+)+$' },
          timeout_seconds: 6,
        }),
      ),
    ),
    overHttp('the list of tools', () => '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
    overHttp('half keys', () =>
      call(
        'call_agent',
        JSON.stringify({ agent_id: 'clerk', message: 'xoxb-'.repeat(20_000), timeout_ms: 5000 }),
      ),
    ),
    overHttp('the name of a client', () => initialize(1, '\u001b[2J"\n'.repeat(20_000))),
    overHttp('many fields', () =>
      call(
        'buffer',
        JSON.stringify(Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`f${n}`, n]))),
      ),
    ),
    {
      kind: 'mcp stdio: deep line',
      try: (target) => overStdio(target, [`${call('sub_agent', deep(60_000))}\n`]),
    },
    { kind: 'mcp stdio: a line without an end', try: (target) => overStdio(target, ['x'.repeat(6_000_000)]) },
    {
      kind: 'mcp stdio: garbage',
      try: (target) =>
        overStdio(target, [
          Uint8Array.from({ length: 50_000 }, (_, n) => (n * 7) % 256),
          '\n',
          '{"jsonrpc":"2.0"}\n',
          'null\n',
          '[]\n',
        ]),
    },
    {
      kind: 'mcp stdio: leaves at once',
      try: (target) => overStdio(target, [`${call('call_agent', '{"agent_id":"sleeper","message":"x"}')}\n`]),
    },
  ],
}
