/** Commands that start a server of their own. */
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { cli, garbage, json, matchLines, patience, project, start, type Ended } from '../kits/cli.ts'

vi.setConfig(patience)

test('run starts a server, prints the output, and leaves nothing behind but the log', async () => {
  const { cwd, data } = project()
  expect(await cli(cwd, 'run', 'tea')).toEqual({
    code: 0,
    out: 'helper said hello 世界\n',
    err: expect.stringMatching(
      matchLines(
        /^boss calling helper with task: Now: tea/,
        /helper returned: SUCCESS \(\d+ tokens, \d+s\)/,
        / {2}Tools used: list/,
        /flow (\d{6}) {2}tieline flow \1\n$/,
      ),
    ) as unknown,
  })
  expect(existsSync(join(data, 'server.json'))).toBe(false)
  const result = json<{ session: string; flow: string; calls: object[] }>(
    await cli(cwd, 'run', 'more', '--json'),
  )
  expect(result).toMatchObject({
    success: true,
    outcome: 'completed',
    agent: 'boss',
    session: expect.stringMatching(/^ses_\d{21}$/) as unknown,
    flow: expect.stringMatching(/^flow_\d{22}$/) as unknown,
    calls: [{ caller: 'boss', agent: 'helper', outcome: 'completed' }],
  })
  expect(
    json<{ session: string }>(await cli(cwd, 'run', 'again', '--session', result.session, '--json')).session,
  ).toBe(result.session)
  expect(await cli(cwd, 'run', 'x', '--session', result.session, '--agent', 'boss')).toMatchObject({
    code: 2,
    err: expect.stringContaining('leave out --agent and --cwd') as unknown,
  })
})

test('without any configuration the offline demo agent answers', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'tieline-cli-'))
  garbage.push(cwd)
  expect(
    await start(cwd, ['run', 'hi there', '--data-dir', 'data'], { TIELINE_PORT: '0' }).ended,
  ).toMatchObject({
    code: 0,
    out: expect.stringContaining('I was told: "hi there"') as unknown,
    err: expect.stringMatching(/^flow (\d{6}) {2}tieline flow \1\n$/) as unknown,
  })
})

test('call prints what the agent returns; the exit code and --json say how it ended', async () => {
  const { cwd } = project()
  expect(await cli(cwd, 'call', 'boss', 'tea')).toEqual({
    code: 0,
    out: 'helper said hello 世界\n',
    err: expect.stringContaining(
      'you calling boss with task: tea\nboss calling helper with task: Now: tea\n',
    ) as unknown,
  })
  expect(json(await cli(cwd, 'call', 'helper', 'break', '--json'))).toMatchObject({
    agent_name: 'helper',
    success: false,
    outcome: 'failed',
    errors: [expect.stringContaining('broken on purpose') as unknown],
  })
  expect(await cli(cwd, 'call', 'helper', 'wait', '--timeout', '0.3')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('tieline: helper: timed out') as unknown,
  })
  const unknown = await cli(cwd, 'call', 'nobody', 'x', '--json')
  expect(unknown.code).toBe(1)
  expect(json(unknown)).toMatchObject({
    error: {
      code: 'agent_unknown',
      message: expect.stringContaining('Known agents: boss, helper') as unknown,
    },
  })
  // Why it failed is said once.
  for (const [name, why] of [
    ['helper', 'broken on purpose'],
    ['nobody', 'There is no agent "nobody"'],
  ] as const) {
    const { code, err } = await cli(cwd, 'call', name, 'break')
    // A call that ran ends with its flow; one that was refused has none to show.
    const said = err.split('\n').findLast((line) => line.startsWith('tieline: '))
    expect([code, err.split(why).length, said]).toEqual([
      1,
      2,
      `tieline: ${name}: ${name === 'helper' ? 'failed' : 'refused'}`,
    ])
  }
  expect((await cli(cwd, 'call', 'helper', 'break', '--quiet')).err).toContain('broken on purpose')
  // What was only there to make the calls is put away.
  expect((await cli(cwd, 'sessions')).out).toMatch(/client, archived/)
})

test('Ctrl-C cancels a call and everything below it', async () => {
  const { cwd } = project()
  const calling = start(cwd, ['call', 'boss', 'wait'])
  await calling.says('boss calling helper')
  calling.child.kill('SIGINT')
  expect(await calling.ended).toMatchObject({
    code: 130,
    out: '',
    err: expect.stringMatching(/helper returned: FAILED[\s\S]*tieline: boss: cancelled\n$/) as unknown,
  })
  expect(
    json<{ outcome: string }[]>(await cli(cwd, 'calls', '--json')).map(({ outcome }) => outcome),
  ).toEqual(['cancelled', 'cancelled'])
})

test('two commands that begin together share one server: the loser of the race connects to the winner', async () => {
  const { cwd } = project()
  const both = await Promise.all([
    cli(cwd, 'run', 'one', '--quiet'),
    cli(cwd, 'run', 'two', '--quiet'),
    cli(cwd, 'call', 'helper', 'three', '--quiet'),
  ])
  expect(both.map(({ code, out }) => [code, out])).toEqual([
    [0, 'helper said hello 世界\n'],
    [0, 'helper said hello 世界\n'],
    [0, 'hello 世界\n'],
  ])
})

test('the server.json of a server that died is not trusted', async () => {
  const { cwd, data } = project()
  mkdirSync(data)
  writeFileSync(join(data, 'server.json'), JSON.stringify({ url: 'http://127.0.0.1:9', pid: 2 ** 22 + 1 }))
  expect(await cli(cwd, 'run', 'tea', '--quiet')).toMatchObject({ code: 0 })
  writeFileSync(join(data, 'server.json'), 'garbage')
  expect(await cli(cwd, 'run', 'tea', '--quiet')).toMatchObject({ code: 0 })
})

test('a call of an agent that a program must run says that it waits for one', async () => {
  const { cwd } = project({ agents: { far: { driver: 'host' } } })
  const calling = start(cwd, ['call', 'far', 'x'])
  await calling.says('far waits for a program to connect as this agent')
  calling.child.kill('SIGINT')
  expect(await calling.ended).toMatchObject({ code: 130 })
})

test('mistakes are reported in one line with exit code 2, and name the flag or the folder', async () => {
  const { cwd } = project()
  await cli(cwd, 'run', 'tea', '--quiet')
  const cases: [string[], string][] = [
    [
      ['run', 'x', '--timeout', '-5'],
      '--timeout: "-5" was given, but a number of seconds above 0 is needed, such as 30 or 0.5.',
    ],
    [['run', 'x', '--timeout', 'soon'], '--timeout: "soon" was given'],
    [['calls', '--limit', 'all'], '--limit: "all" was given, but a whole number above 0 is needed.'],
    [
      ['export', '--out', 'no/such/folder/x.jsonl'],
      `there is no folder ${join(cwd, 'no/such/folder')}; make it first`,
    ],
    [['demo', '--server', 'http://127.0.0.1:1'], '--server means nothing to demo'],
    [['replay', 'flow_nope'], 'there is no flow "flow_nope" in this log'],
    [['run', ' '], '<task>: an empty text was given'],
    [['call', 'helper', ''], '<task>: an empty text was given'],
    [['run', 'x', '--cwd', 'nope'], `--cwd: "${join(cwd, 'nope')}" is no directory`],
    [['send', 'ses_nope'], 'send needs "<text>".'],
  ]
  const told: Ended[] = []
  for (const [args] of cases) told.push(await cli(cwd, ...args))
  expect(
    told.map(({ code, out, err }, index) => [
      code,
      out,
      err.trim().split('\n').length,
      err.includes(cases[index]?.[1] ?? '') ? 'told' : err,
    ]),
  ).toEqual(cases.map(() => [2, '', 1, 'told']))
  writeFileSync(join(cwd, 'f'), '')
  for (const [dir, words] of [
    ['f', `${join(cwd, 'f')} cannot be used as a data directory (it is a file)`],
    ['f/x', `${join(cwd, 'f/x')} cannot be used as a data directory`],
  ] as const) {
    const { code, err } = await cli(cwd, 'run', 'x', '--data-dir', dir)
    expect([code, err.trim().split('\n').length, err]).toEqual([1, 1, expect.stringContaining(words)])
  }
  expect(await cli(cwd, 'send', 'ses_nope', 'x')).toMatchObject({
    code: 1,
    err: expect.stringContaining('There is no session "ses_nope"') as unknown,
  })
})
