/** The script that Claude Code's hooks run, in a real shell, with a server that runs, stops or hangs. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { claudeHooks, claudeScriptFile, renderClaudeScript } from '../../src/adapters/claude-code/hooks.ts'
import { scratch, started } from '../kits/client.ts'

type Ran = { code: number | null; out: string; err: string; ms: number }

/** A server that works may be slow on a full machine: only one that hangs is given up as soon as a user's is. */
function install(data: string, seconds?: number): void {
  mkdirSync(dirname(claudeScriptFile(data)), { recursive: true })
  writeFileSync(claudeScriptFile(data), renderClaudeScript(data, seconds), { mode: 0o700 })
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

/** Another program where the server should be; what it was asked. */
async function listen(
  data: string,
  answer: (socket: Socket) => void,
  pid: number = process.pid,
): Promise<string[]> {
  const asked: string[] = []
  const server = createServer((socket) => {
    const at = asked.push('') - 1
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      asked[at] += chunk.toString()
      answer(socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  writeFileSync(
    join(data, 'server.json'),
    `${JSON.stringify({ url: `http://127.0.0.1:${port}`, auth: 'open', pid })}\n`,
  )
  return asked
}

const refuse = (socket: Socket): void =>
  void socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnope')

async function open() {
  const world = await started()
  const { dataDir } = world.served
  install(dataDir, 20)
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
  const asked = await listen(data, () => undefined)
  const first = await tell()
  expect(first).toMatchObject({ code: 0, out: '', err: '' })
  expect(first.ms).toBeGreaterThan(700)
  expect(await tell()).toMatchObject({ code: 0, out: '' })
  expect(asked).toHaveLength(1)
  await run(find(data, 'SessionEnd'), data).ended
  expect(asked).toHaveLength(1)
  await tell()
  expect(asked).toHaveLength(2)
})

test('a server of another version, or another program, is not listened to', async () => {
  const data = scratch()
  install(data, 20)
  await listen(data, refuse)
  expect(await run(find(data, 'Stop'), data).ended).toMatchObject({ code: 0, out: '', err: '' })
  expect(await run(find(data, 'Stop', 1), data).ended).toMatchObject({ code: 0, out: '', err: '' })
})

test('claude -p is told with its prompt, its tools and at its end, and not held up at its start', async () => {
  const data = scratch()
  install(data, 20)
  const asked = await listen(data, refuse)
  const alone = { CLAUDE_CODE_SESSION_ATTENDED: '0' }
  const tell = (name: string): Promise<Ran> =>
    run(find(data, name), data, { hook_event_name: name }, alone).ended
  expect(await tell('SessionStart')).toMatchObject({ code: 0, out: '' })
  expect(asked).toEqual([])
  for (const name of ['UserPromptSubmit', 'PostToolUse', 'Stop']) await tell(name)
  expect(asked).toHaveLength(3)
})

test('a hook brings the token of the user, so that nobody has to look for its process', async () => {
  const data = scratch()
  install(data, 20)
  writeFileSync(join(data, 'token'), 'tlu_secret\n')
  const asked = await listen(data, refuse)
  await run(find(data, 'Stop'), data).ended
  expect(asked).toEqual([expect.stringContaining('uthorization: Bearer tlu_secret\r\n')])
})

test('whoever took the port of a server that has died is told nothing', async () => {
  const data = scratch()
  install(data, 20)
  writeFileSync(join(data, 'token'), 'tlu_secret\n')
  const { child, ended } = run('exit 0', data)
  await ended
  const asked = await listen(data, refuse, child.pid)
  expect(await run(find(data, 'UserPromptSubmit'), data, { prompt: 'private' }).ended).toMatchObject({
    code: 0,
    out: '',
  })
  expect(asked).toEqual([])
})

test('a session that was deaf after one slow answer is told again when the server answers', async () => {
  const { dataDir, cwd, tell, client, peer, session } = await open()
  await tell('SessionStart')
  const hung = join(dataDir, 'hooks', 'hung-abc-1')
  writeFileSync(hung, '')
  const { id } = await client.mail.send({ from: peer, session, message: 'hello' })
  expect(await tell('PostToolUse')).toMatchObject({ code: 0, out: '' })
  run(find(dataDir, 'Stop', 1), cwd)
  await expect.poll(() => existsSync(hung), { timeout: 20_000 }).toBe(false)
  expect((await tell('PostToolUse')).out).toContain(id)
})

test('a server that still hangs stays unasked, whatever waits in the background', async () => {
  const data = scratch()
  install(data)
  await listen(data, () => undefined)
  const hung = join(data, 'hooks', 'hung-abc-1')
  writeFileSync(hung, '')
  const waiter = run(find(data, 'Stop', 1), data)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(existsSync(hung)).toBe(true)
  waiter.child.kill('SIGKILL')
})
