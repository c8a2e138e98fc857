/** The script that Claude Code's hooks run, in a real shell, with a server that runs, stops or hangs. */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { claudeHooks, claudeScriptFile, renderClaudeScript } from '../../src/adapters/claude-code/hooks.ts'
import { scratch, started } from '../kits/client.ts'

type Ran = { code: number | null; out: string; err: string; ms: number }

function install(data: string): void {
  mkdirSync(dirname(claudeScriptFile(data)), { recursive: true })
  writeFileSync(claudeScriptFile(data), renderClaudeScript(data), { mode: 0o700 })
}

/** Runs a hook as Claude Code does: its command in a shell, with the event on its input. */
function run(command: string, cwd: string, event: object = {}, env: Record<string, string> = {}) {
  const beganAt = performance.now()
  const child = spawn('sh', ['-c', command], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', CLAUDE_CODE_SESSION_ID: 'abc-1', ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  child.stdin.on('error', () => undefined)
  child.stdin.end(JSON.stringify({ session_id: 'abc-1', cwd, ...event }))
  const ended = new Promise<Ran>((resolve) =>
    child.on('close', (code) => resolve({ code, out, err, ms: performance.now() - beganAt })),
  )
  return { child, ended }
}

const find = (data: string, event: string, at = 0): string =>
  claudeHooks(data)[event]?.[0]?.hooks[at]?.command ?? 'exit 99'

async function open() {
  const world = await started()
  const { dataDir } = world.served
  install(dataDir)
  const peer = (await world.client.sessions.create({ cwd: world.cwd, agent: 'external' })).sessionId
  const session = 'ses_client-claude-code_abc-1'
  const tell = (name: string, event: object = {}, env: Record<string, string> = {}): Promise<Ran> =>
    run(find(dataDir, name), world.cwd, { hook_event_name: name, ...event }, env).ended
  return { ...world, dataDir, peer, session, tell }
}

test('a hook says what waits, names the session after its prompt, and closes it', async () => {
  const { tell, client, peer, session } = await open()
  expect(await tell('SessionStart')).toMatchObject({ code: 0, out: '{}' })
  const { id } = await client.mail.send({ from: peer, session, message: 'hello' })
  const told = await tell('UserPromptSubmit', { prompt: 'Say "it"\nnow', more: 'x'.repeat(300_000) })
  expect(JSON.parse(told.out)).toMatchObject({ hookSpecificOutput: { hookEventName: 'UserPromptSubmit' } })
  expect(told.out).toContain(id)
  expect(await client.sessions.get(session)).toMatchObject({ presence: 'working', title: 'Say "it" now' })
  await tell('SessionEnd')
  expect((await client.sessions.get(session)).presence).toBe('closed')
})

test('a waiter ends with 2 and the text when there is a reason to start the session', async () => {
  const { tell, client, peer, session, dataDir, cwd, served } = await open()
  await tell('SessionStart')
  const waiter = run(find(dataDir, 'Stop', 1), cwd)
  await expect.poll(async () => (await client.sessions.get(session)).wakeable).toBe(true)
  const { id } = await client.mail.send({ from: session, session: peer, message: 'a question' })
  const desk = served.line.desks.as({ who: { kind: 'session', session: peer } })
  await desk.tools.use('buffer', { accept: id }, { session: peer })
  await client.mail.send({ from: peer, message: 'forty-two\nlines', reply: [id] })
  const { code, out, err } = await waiter.ended
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain('forty-two\nlines')
  expect(err.trimEnd()).not.toMatch(/200$/)
})

test('a waiter is not even started in claude -p, nor a hook in an agent that we run', async () => {
  const { tell, client, session, dataDir, cwd } = await open()
  const waiter = run(find(dataDir, 'Stop', 1), cwd, {}, { CLAUDE_CODE_SESSION_ATTENDED: '0' })
  expect(await waiter.ended).toMatchObject({ code: 0, out: '', err: '' })
  expect(await tell('SessionStart', {}, { TIELINE_TOKEN: 'tlt_x' })).toMatchObject({ code: 0, out: '' })
  await expect(client.sessions.get(session)).rejects.toThrow(/no session/i)
})

test('without a server a hook says nothing; one that hangs is asked once in a session', async () => {
  const data = scratch()
  install(data)
  const tell = (): Promise<Ran> => run(find(data, 'PostToolUse'), data).ended
  expect(await tell()).toMatchObject({ code: 0, out: '', err: '' })
  const asked: unknown[] = []
  const hanging = createServer((socket) => {
    asked.push(socket)
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => void hanging.close())
  const { port } = hanging.address() as { port: number }
  writeFileSync(
    join(data, 'server.json'),
    `${JSON.stringify({ url: `http://127.0.0.1:${port}`, auth: 'open' })}\n`,
  )
  const first = await tell()
  expect(first).toMatchObject({ code: 0, out: '', err: '' })
  expect(first.ms).toBeGreaterThan(800)
  expect(await tell()).toMatchObject({ code: 0, out: '' })
  expect(asked).toHaveLength(1)
  await run(find(data, 'SessionEnd'), data).ended
  expect(asked).toHaveLength(1)
  await tell()
  expect(asked).toHaveLength(2)
})

test('a server of another version, or another program, is not listened to', async () => {
  const data = scratch()
  install(data)
  const other = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnope')
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => void other.close())
  const { port } = other.address() as { port: number }
  writeFileSync(join(data, 'server.json'), `${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
  expect(await run(find(data, 'Stop'), data).ended).toMatchObject({ code: 0, out: '', err: '' })
  expect(await run(find(data, 'Stop', 1), data).ended).toMatchObject({ code: 0, out: '', err: '' })
})
