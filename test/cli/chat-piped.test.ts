/** A conversation without a terminal: every line of the input is a message. */
import { expect, test, vi } from 'vitest'
import { matchLines, patience, project, start, typed } from '../kits/cli.ts'

vi.setConfig(patience)

test('each line is answered, with calls in the known shapes, until the input ends', async () => {
  const { cwd } = project()
  const { code, out, err } = await typed(
    cwd,
    'tea\n\n/history\n/calls\n/inbox\n/cancel\n/nonsense\n/help\nmore',
    'chat',
  )
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(
    matchLines(
      /^boss in \S+, ses_\d+/,
      /boss calling helper with task: Now: tea/,
      /helper returned: SUCCESS \(\d+ tokens, \d+s\)/,
      / {2}Tools used: list/,
      /helper said hello 世界/,
      /\[boss -> helper\] OK \(\d+\)/,
      /call_\d+ {2}\[boss -> helper\] OK/,
    ),
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
    matchLines(
      /: second/,
      /boss calling helper with task: Now: .*second[\s\S]*helper said hello 世界/,
      /\S+ from .*: first/,
      /boss calling helper with task: Now: .*first[\s\S]*helper said hello 世界/,
      /No messages wait\.\n$/,
    ),
  )
  server.child.kill('SIGINT')
  expect((await server.ended).code).toBe(0)
})

test('a refusal is printed, and the conversation goes on', async () => {
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

test('it takes over when the server that it used has gone', async () => {
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
