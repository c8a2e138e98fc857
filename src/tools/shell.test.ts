import { existsSync } from 'node:fs'
import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { shell } from './shell.ts'
import { answerFields, makeWorkspace, refusalIn, textIn } from './workspace-contract.ts'

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A zombie that nobody has reaped yet is dead. */
async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch {
    // There is no such process.
    return false
  }
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z')
  return !state.slice(state.lastIndexOf(')')).startsWith(') Z')
}

async function pidsIn(path: string, count: number): Promise<number[]> {
  for (;;) {
    const pids = (await readFile(path, 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line !== '')
      .map(Number)
    if (pids.length === count) return pids
    await nextTick()
  }
}

async function untilDead(pids: readonly number[]): Promise<void> {
  for (const pid of pids) while (await isAlive(pid)) await nextTick()
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const startedAt = process.hrtime.bigint()
  const result = await work()
  return { ms: Number(process.hrtime.bigint() - startedAt) / 1e6, result }
}

test('shell runs in the working directory and gives both streams and the exit code', async () => {
  const workspace = await makeWorkspace()
  expect(await shell.run({ command: 'pwd; echo "ü😀" >&2; exit 3' }, workspace.context())).toEqual({
    ok: false,
    value: {
      exit_code: 3,
      signal: null,
      stdout: `${workspace.cwd}\n`,
      stderr: 'ü😀\n',
      truncated: false,
      timed_out: false,
      duration_ms: expect.any(Number),
    },
  })
  expect(await shell.run({ command: 'true' }, workspace.context())).toMatchObject({
    ok: true,
    value: { exit_code: 0, stdout: '', stderr: '' },
  })
})

test('shell works in a directory that is reached by a link', async () => {
  const workspace = await makeWorkspace()
  await symlink('work', `${workspace.cwd}-link`)
  const context = workspace.context()
  const linked = { ...context, session: { ...context.session, cwd: `${workspace.cwd}-link` } }
  expect(answerFields(await shell.run({ command: 'pwd -P' }, linked))['stdout']).toBe(`${workspace.cwd}\n`)
})

test('S3: shell passes on none of the environment but what a shell needs', async () => {
  const workspace = await makeWorkspace()
  process.env['TIELINE_TEST_SECRET_KEY'] = 'sk-secret'
  process.env['LC_ALL'] = 'C'
  onTestFinished(() => {
    delete process.env['TIELINE_TEST_SECRET_KEY']
    delete process.env['LC_ALL']
  })
  const stdout = textIn(await shell.run({ command: 'env' }, workspace.context()), 'stdout')
  expect(stdout).not.toContain('sk-secret')
  expect(stdout).toContain('LC_ALL=C\n')
  const names = stdout
    .split('\n')
    .map((line) => line.split('=')[0])
    .filter((name) => name !== '')
  // PWD, SHLVL, OLDPWD and _ are made by the shell itself; by the mark its processes are found again.
  const allowed = [
    'PATH',
    'HOME',
    'LANG',
    'LC_ALL',
    'TERM',
    'TMPDIR',
    'USER',
    'SHELL',
    'PWD',
    'OLDPWD',
    'SHLVL',
    '_',
    'TIELINE_COMMAND',
  ]
  expect(names.filter((name) => !allowed.includes(name ?? ''))).toEqual([])
})

test('shell gives no input, so that a command which asks for it ends', async () => {
  const workspace = await makeWorkspace()
  expect(await shell.run({ command: 'cat; echo end' }, workspace.context())).toMatchObject({
    ok: true,
    value: { stdout: 'end\n' },
  })
})

test('S1: shell ends the whole process group when the turn stops', async () => {
  const workspace = await makeWorkspace()
  const stop = new AbortController()
  const running = shell.run(
    {
      command:
        'sleep 300 & echo $! >> pids; (sleep 300 & echo $! >> pids; wait) & echo $! >> pids; echo $$ >> pids; wait',
    },
    workspace.context(stop.signal),
  )
  const pids = await pidsIn(join(workspace.cwd, 'pids'), 4)
  for (const pid of pids) expect(await isAlive(pid)).toBe(true)
  stop.abort(new Error('turn ended'))
  const { ms } = await timed(() => expect(running).rejects.toThrow('turn ended'))
  expect(ms).toBeLessThan(1000)
  await untilDead(pids)
})

test('S1: shell ends those that ignore SIGTERM', async () => {
  const workspace = await makeWorkspace()
  const stop = new AbortController()
  const running = shell.run(
    { command: "trap '' TERM; sleep 300 & echo $! >> pids; echo $$ >> pids; while true; do sleep 300; done" },
    workspace.context(stop.signal),
  )
  const pids = await pidsIn(join(workspace.cwd, 'pids'), 2)
  stop.abort(new Error('turn ended'))
  const { ms } = await timed(() => expect(running).rejects.toThrow('turn ended'))
  expect(ms).toBeLessThan(1500)
  await untilDead(pids)
})

test('S1: shell ends what a command leaves in the background, with or without its pipes', async () => {
  const workspace = await makeWorkspace()
  const { ms, result } = await timed(() =>
    shell.run(
      { command: 'sleep 300 & echo $! >> pids; sleep 300 >/dev/null 2>&1 & echo $! >> pids; echo done' },
      workspace.context(),
    ),
  )
  expect(result).toMatchObject({ ok: true, value: { exit_code: 0, stdout: 'done\n', timed_out: false } })
  expect(ms).toBeLessThan(1500)
  await untilDead(await pidsIn(join(workspace.cwd, 'pids'), 2))
})

test('S2: shell answers although a process outside its group holds the pipes', async () => {
  const workspace = await makeWorkspace()
  const command = 'setsid sleep 300 & echo $! >> pids; echo done'
  const { ms, result } = await timed(() => shell.run({ command }, workspace.context()))
  const pids = await pidsIn(join(workspace.cwd, 'pids'), 1)
  onTestFinished(() => {
    for (const pid of pids) process.kill(pid, 'SIGKILL')
  })
  expect(result).toMatchObject({ ok: true, value: { exit_code: 0, stdout: 'done\n' } })
  expect(ms).toBeLessThan(1500)
})

test('shell ends a command when its time is up, and keeps what it has said', async () => {
  const workspace = await makeWorkspace()
  const { ms, result } = await timed(() =>
    shell.run(
      { command: 'echo before; echo $$ >> pids; sleep 300; echo after', timeout_seconds: 0.3 },
      workspace.context(),
    ),
  )
  expect(result).toMatchObject({
    ok: false,
    value: { exit_code: null, signal: 'SIGTERM', stdout: 'before\n', timed_out: true },
  })
  expect(answerFields(result)['duration_ms']).toBeGreaterThanOrEqual(295)
  expect(ms).toBeLessThan(2000)
  await untilDead(await pidsIn(join(workspace.cwd, 'pids'), 1))
})

test('shell keeps start and end of much output, cut between code points, and counts what is left out', async () => {
  const workspace = await makeWorkspace()
  for (const shift of ['', 'a', 'ab', 'abc']) {
    await workspace.file('out.txt', `${shift}${'😀'.repeat(262_144)}end`)
    const found = await shell.run({ command: 'cat out.txt; cat out.txt >&2' }, workspace.context())
    expect(answerFields(found)['truncated']).toBe(true)
    for (const stream of ['stdout', 'stderr']) {
      const text = textIn(found, stream)
      expect(text).not.toContain('\ufffd')
      const [start = '', gap = '', end = ''] = text.split(/\n\[… (\d+) bytes left out …\]\n/)
      expect(start.startsWith(`${shift}😀`)).toBe(true)
      expect(end.endsWith('😀end')).toBe(true)
      expect(Buffer.byteLength(start) + Number(gap) + Buffer.byteLength(end)).toBe(
        shift.length + 1_048_576 + 3,
      )
      expect(Buffer.byteLength(start)).toBeGreaterThan(32_768 - 4)
      expect(Buffer.byteLength(end)).toBeGreaterThan(32_768 - 4)
    }
  }
})

test('shell gives 64 KiB of output whole, also when it comes in small pieces', async () => {
  const workspace = await makeWorkspace()
  const found = answerFields(
    await shell.run(
      { command: 'i=0; while [ $i -lt 4096 ]; do echo 123456789012345; i=$((i+1)); done' },
      workspace.context(),
    ),
  )
  expect(found).toMatchObject({ truncated: false, stdout: '123456789012345\n'.repeat(4096) })
  expect(
    answerFields(await shell.run({ command: 'head -c 65537 /dev/zero' }, workspace.context()))['truncated'],
  ).toBe(true)
})

test('shell does not run a command when the turn had stopped before', async () => {
  const workspace = await makeWorkspace()
  await expect(
    shell.run({ command: 'touch ran' }, workspace.context(AbortSignal.abort(new Error('turn ended')))),
  ).rejects.toThrow('turn ended')
  expect(existsSync(join(workspace.cwd, 'ran'))).toBe(false)
})

test('shell refuses bad input, and throws a fault when the directory is gone', async () => {
  const workspace = await makeWorkspace()
  const tries: [Record<string, string | number>, string][] = [
    [{ command: '' }, 'not empty'],
    [{ command: 'a\0b' }, 'NUL'],
    [{}, 'command is missing'],
    [{ command: 'true', timeout_seconds: 0 }, 'timeout_seconds: 0'],
    [{ command: 'true', cwd: '/' }, 'cwd'],
    [{ command: `: ${'x'.repeat(100_000)}` }, 'too_large'],
  ]
  for (const [input, words] of tries)
    expect(refusalIn(await shell.run(input, workspace.context()))).toContain(words)
  const context = workspace.context()
  const gone = { ...context, session: { ...context.session, cwd: join(workspace.cwd, 'gone') } }
  await expect(shell.run({ command: 'true' }, gone)).rejects.toThrow('could not be started')
})

test('shell starts nothing where its turn was stopped while the sandbox was made', async () => {
  const workspace = await makeWorkspace()
  const stop = new AbortController()
  const launch: NonNullable<ReturnType<typeof workspace.context>['launch']> = async (command) => {
    stop.abort(new Error('the turn was stopped'))
    return { ...command, sandboxed: false }
  }
  const context = { ...workspace.context(), signal: stop.signal, launch }
  await expect(shell.run({ command: 'touch begun', timeout_seconds: 5 }, context)).rejects.toThrow('stopped')
  expect(existsSync(join(workspace.cwd, 'begun'))).toBe(false)
})
