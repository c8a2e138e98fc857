import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { cli, garbage, json, patience, project, start, typed, type Ended } from '../kits/cli.ts'

vi.setConfig(patience)

describe('with a server of its own', () => {
  test('run starts one, prints the output, and leaves nothing behind but the log', async () => {
    const { cwd, data } = project()
    expect(await cli(cwd, 'run', 'tea')).toEqual({
      code: 0,
      out: 'helper said hello 世界\n',
      err: expect.stringMatching(
        /^boss calling helper with task: Now: tea\nhelper returned: SUCCESS \(\d+ tokens, \d+s\)\n {2}Tools used: list\n$/,
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
      json<{ session: string }>(await cli(cwd, 'run', 'again', '--session', result.session, '--json'))
        .session,
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
    ).toMatchObject({ code: 0, out: expect.stringContaining('I was told: "hi there"') as unknown, err: '' })
  })

  test('call prints what the agent returns; the exit code and --json say how it ended', async () => {
    const { cwd } = project()
    expect(await cli(cwd, 'call', 'boss', 'tea')).toEqual({
      code: 0,
      out: 'helper said hello 世界\n',
      err: expect.stringContaining(
        'external calling boss with task: tea\nboss calling helper with task: Now: tea\n',
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
      expect([code, err.split(why).length, err.trim().split('\n').at(-1)]).toEqual([
        1,
        2,
        `tieline: ${name}: ${name === 'helper' ? 'failed' : 'refused'}`,
      ])
    }
    expect((await cli(cwd, 'call', 'helper', 'break', '--quiet')).err).toContain('broken on purpose')
    // What was only there to make the calls is put away.
    expect((await cli(cwd, 'sessions')).out).toMatch(/external, archived/)
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

  test('what a server that died left in server.json is not believed', async () => {
    const { cwd, data } = project()
    mkdirSync(data)
    writeFileSync(join(data, 'server.json'), JSON.stringify({ url: 'http://127.0.0.1:9', pid: 2 ** 22 + 1 }))
    expect(await cli(cwd, 'run', 'tea', '--quiet')).toMatchObject({ code: 0 })
    writeFileSync(join(data, 'server.json'), 'garbage')
    expect(await cli(cwd, 'run', 'tea', '--quiet')).toMatchObject({ code: 0 })
  })
})

describe('chat', () => {
  test('without a terminal answers each line, shows calls in the known shapes, and ends with its input', async () => {
    const { cwd } = project()
    const { code, out, err } = await typed(
      cwd,
      'tea\n\n/history\n/calls\n/inbox\n/cancel\n/nonsense\n/help\nmore',
      'chat',
    )
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(
      /^boss in \S+, ses_\d+\nboss calling helper with task: Now: tea\nhelper returned: SUCCESS \(\d+ tokens, \d+s\)\n {2}Tools used: list\nhelper said hello 世界\n\[boss -> helper\] OK \(\d+\)\ncall_\d+ {2}\[boss -> helper\] OK/,
    )
    expect(out).toContain('No messages wait.\nNothing runs here.\nThere is no command "/nonsense"')
    expect(out).toMatch(/^ {2}\/quit +leave/m)
    expect(out.match(/helper said hello 世界\n/g)).toHaveLength(2)
  })

  test('--quiet prints the answers, --json an object for each; a message that failed is exit code 1', async () => {
    const { cwd } = project()
    expect(await typed(cwd, 'a\nb\n/quit\nc\n', 'chat', '--quiet')).toEqual({
      code: 0,
      out: 'helper said hello 世界\nhelper said hello 世界\n',
      err: '',
    })
    const { code, out } = await typed(cwd, 'break\nfine\n', 'chat', '--agent', 'helper', '--json')
    expect([
      code,
      out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { outcome: string }).outcome),
    ]).toEqual([1, ['failed', 'completed']])
  })

  test("mail is listed, and what is accepted is worked on and shown like a message of one's own", async () => {
    const { cwd } = project()
    const server = start(cwd, ['serve', '--json'])
    await server.says('"url"')
    const { url } = JSON.parse(server.out()) as { url: string }
    const post = async (path: string, body: object): Promise<Record<string, string>> =>
      (await (
        await fetch(`${url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      ).json()) as Record<string, string>
    const { sessionId = '' } = await post('/api/sessions', { cwd, agent: 'boss' })
    for (const message of ['first', 'second']) await post('/api/messages', { session: sessionId, message })
    const { code, out } = await typed(
      cwd,
      '/inbox\n/accept 7\n/accept newest\n/accept\n/accept\n',
      'chat',
      '--session',
      sessionId,
    )
    expect(code).toBe(0)
    expect(out).toMatch(/^1\. \S+ from .*: first\n2\. \S+ from .*: second\nThere is no message "7" here\./m)
    expect(out).toMatch(
      /: second\nboss calling helper with task: Now: .*second[\s\S]*helper said hello 世界\n\S+ from .*: first\nboss calling helper with task: Now: .*first[\s\S]*helper said hello 世界\nNo messages wait\.\n$/,
    )
    server.child.kill('SIGINT')
    expect((await server.ended).code).toBe(0)
  })

  test('a no of the server is told, and the conversation goes on', async () => {
    const { cwd } = project({ limits: { taskBytesMax: 64 } })
    const { code, out, err } = await typed(cwd, `${'x'.repeat(100)}\ntea\n`, 'chat', '--quiet')
    expect([code, out]).toEqual([1, 'helper said hello 世界\n'])
    expect(err).toMatch(/^tieline: .*has 100 bytes; at most 64 are taken/)
  })

  test('Ctrl-C cancels the turn, and the next line is answered', async () => {
    const { cwd } = project()
    const talking = start(cwd, ['chat'])
    talking.child.stdin.write('wait\n')
    await talking.says('boss calling helper')
    talking.child.kill('SIGINT')
    await talking.says('boss: cancelled')
    talking.child.stdin.end('tea\n')
    expect(await talking.ended).toMatchObject({
      code: 1,
      out: expect.stringContaining('helper said hello 世界') as unknown,
    })
  })

  test('takes over when the server that it used has gone', async () => {
    const { cwd } = project()
    const server = start(cwd, ['serve'])
    await server.says('listens on')
    const talking = start(cwd, ['chat', '--quiet'])
    talking.child.stdin.write('one\n')
    await talking.says('helper said')
    server.child.kill('SIGKILL')
    await server.ended
    talking.child.stdin.end('two\n')
    expect(await talking.ended).toMatchObject({
      code: 0,
      out: 'helper said hello 世界\nhelper said hello 世界\n',
    })
  })
})

describe('doctor', () => {
  test('finds what is wrong and says what to do, with exit code 1', async () => {
    const { cwd } = project({
      agents: {
        a: { model: 'acme/x' },
        b: { model: 'openai/gpt' },
        c: { driver: 'scripted', script: [{ say: 'x' }] },
        d: { model: 'local/x' },
      },
      providers: {
        local: { kind: 'openai-compatible', baseURL: 'http://127.0.0.1:1/v1', apiKeyEnv: 'LOCAL_KEY' },
      },
    })
    const { code, out } = await start(cwd, ['doctor'], {
      OPENAI_API_KEY: '',
      ANTHROPIC_API_KEY: 'sk-secret-value',
    }).ended
    expect(code).toBe(1)
    expect(out).toMatch(/^problem +agents +a: there is no provider "acme"\n +→ Add \[providers\.acme\]/m)
    expect(out).toMatch(/^problem +agents +b: openai\/gpt needs a key\n +→ Set OPENAI_API_KEY/m)
    expect(out).toMatch(/^ok +agents +c: scripted$/m)
    expect(out).toMatch(/^ok +keys +set: ANTHROPIC_API_KEY$/m)
    expect(out).toMatch(/^warning +keys +providers\.local: LOCAL_KEY is not set/m)
    expect(out).toMatch(
      /^problem +providers +local: nothing listens at http:\/\/127\.0\.0\.1:1\/v1\n +→ Start the server of the models there/m,
    )
    expect(out).not.toContain('sk-secret-value')
  })

  test('sees a configuration that is wrong, a tool that nobody has, and a log that was emptied', async () => {
    const wrong = project({ agnets: {} })
    expect(await cli(wrong.cwd, 'doctor')).toMatchObject({
      code: 1,
      out: expect.stringContaining('agnets: unknown key; the nearest known one is "agents"') as unknown,
    })
    const tools = project({ agents: { a: { driver: 'scripted', tools: ['raed'], script: [] } } })
    expect(await cli(tools.cwd, 'doctor')).toMatchObject({
      code: 1,
      out: expect.stringContaining('there is no tool "raed"') as unknown,
    })
    const rule = project({
      agents: { a: { driver: 'scripted', script: [{ say: 'x' }, { when: { tsak: 'x' }, say: 'y' }] } },
    })
    expect(await cli(rule.cwd, 'run', 'x')).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        'agents.a.script[1].when.tsak: unknown key; the nearest known one is "task".',
      ) as unknown,
    })
    const emptied = project()
    mkdirSync(emptied.data)
    writeFileSync(join(emptied.data, 'tieline.db'), '')
    expect(await cli(emptied.cwd, 'doctor')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^problem +log +.*empty file/m) as unknown,
    })
    expect(await cli(emptied.cwd, 'calls')).toMatchObject({
      code: 2,
      err: expect.stringContaining('is empty (0 bytes)') as unknown,
    })
    expect(await cli(emptied.cwd, 'run', 'tea')).toMatchObject({
      code: 0,
      err: expect.stringContaining('is empty (0 bytes)') as unknown,
    })
  })
})

test('a call of an agent that a program must run says that it waits for one', async () => {
  const { cwd } = project({ agents: { far: { driver: 'host' } } })
  const calling = start(cwd, ['call', 'far', 'x'])
  await calling.says('far waits for a program to connect as this agent')
  calling.child.kill('SIGINT')
  expect(await calling.ended).toMatchObject({ code: 130 })
})

describe('mcp', () => {
  test('starts a server in the background, speaks only the protocol, and ends with its input; the server stays', async () => {
    const { cwd, data } = project()
    const mcp = start(cwd, ['mcp'])
    const ask = (id: number, method: string, params: object): unknown =>
      mcp.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    ask(1, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    await mcp.says('"id":1')
    mcp.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
    ask(2, 'tools/call', { name: 'sub_agent', arguments: { agent_name: 'helper', task: 'tea' } })
    await mcp.says('"id":2')
    const { pid, url } = JSON.parse(readFileSync(join(data, 'server.json'), 'utf8')) as {
      pid: number
      url: string
    }
    try {
      mcp.child.stdin.end()
      const { code, out } = await mcp.ended
      expect(code).toBe(0)
      expect(
        out
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { jsonrpc: string }).jsonrpc),
      ).toEqual(['2.0', '2.0'])
      expect(out).toContain('hello 世界')
      expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok' })
    } finally {
      process.kill(pid, 'SIGTERM')
    }
    await expect.poll(() => existsSync(join(data, 'server.json')), { timeout: 20_000 }).toBe(false)
  })
})

describe('mistakes', () => {
  test('are told in one line with exit code 2, and name the flag or the folder', async () => {
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
      ['f', `${join(cwd, 'f')} is a file, but a directory is needed`],
      ['f/x', `${join(cwd, 'f/x')} cannot be there`],
    ] as const) {
      const { code, err } = await cli(cwd, 'run', 'x', '--data-dir', dir)
      expect([code, err.trim().split('\n').length, err]).toEqual([1, 1, expect.stringContaining(words)])
    }
    expect(await cli(cwd, 'send', 'ses_nope', 'x')).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no session "ses_nope"') as unknown,
    })
  })
})
