/** What agents write is harmless on a terminal, whichever command prints it. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { cli, json, patience, project, start, typed, type Started } from '../kits/cli.ts'

vi.setConfig(patience)

/**
 * Clipboard, link, title, screen clears, cursor, C1, direction, carriage return, reports, a colour of our
 * own.
 */
const payloads = [
  '\u001b]52;c;ZXZpbA==\u0007',
  '\u001b]8;;http://evil.example\u001b\\',
  '\u001b]0;title\u0007',
  '\u001b[2J',
  '\u001b[3J',
  '\u001bc',
  '\u001b[1A',
  '\u001b[31m',
  '\u001b[8m',
  '\u001b[6n',
  '\u009b2J',
  '\u009d52;c;YQ==\u009c',
  '\u202egnp.exe',
  '\u2066',
  'gone\rseen',
  '\b\b\b',
  '\u007f',
  '\u0000',
  '\u001bP+q544e\u001b\\',
  '\u001b[?1049h',
  '\u001b[32m✓',
]
const nasty = `begin ${payloads.join(' ')} end`

const agents = {
  boss: {
    driver: 'scripted',
    description: nasty,
    tools: ['sub_agent', 'send-message', 'create_agent_session'],
    allowSubAgentCalls: true,
    script: [
      { when: { task: 'fail' }, fail: nasty },
      {
        when: { iteration: 1 },
        tools: [
          { name: 'sub_agent', input: { agent_name: 'helper', task: nasty } },
          { name: 'sub_agent', input: { agent_name: nasty, task: 'x' } },
          { name: 'send-message', input: { message: nasty, session: 'ses_user' } },
          { name: 'send-message', input: { message: nasty, draft: true } },
        ],
      },
      { say: nasty },
    ],
  },
  helper: { driver: 'scripted', script: [{ say: nasty }] },
}

const { cwd } = project({ agents })
let server: Started
let session = ''
let flow = ''
beforeAll(async () => {
  server = start(cwd, ['serve', '--json'])
  await server.says('"url"')
  const url = (JSON.parse(server.out()) as { url: string }).url
  const made = await fetch(`${url}/api/sessions`, {
    method: 'POST',
    body: JSON.stringify({ cwd, agent: 'boss', title: nasty }),
    headers: { 'content-type': 'application/json' },
  })
  session = ((await made.json()) as { sessionId: string }).sessionId
  flow = json<{ flow: string }>(await cli(cwd, 'run', 'go', '--session', session, '--json')).flow
})
afterAll(async () => {
  server.child.kill('SIGTERM')
  await server.ended
})

/** Everything that could act, but line breaks, tabs, and what our own code uses. */
const ours = /ESC\[(?:\?25[lh]|\?2026[lh]|\?2004[lh]|\d*[AGKJ]|(?:1|2|22|31|32|33|36|39)m|\d+[CD])/g
const acts = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u
const others = [
  '\u001b]',
  '\u001b[2J',
  '\u001b[3J',
  '\u001bc',
  '\u001b[8m',
  '\u001b[6n',
  '\u001bP',
  '\u001b[?1049h',
  '\u001b[31m \u001b[8m',
  '\u001b[32m✓ end',
  'gone\rseen',
  '\b',
]

function expectHarmless(text: string, onTerminal: boolean): void {
  for (const part of others) expect([part, text.includes(part)]).toEqual([part, false])
  const left = (
    onTerminal ? text.replaceAll('\u001b', 'ESC').replaceAll(ours, '').replaceAll('ESC', '\u001b') : text
  )
    .replaceAll(/\r*\n|\t/g, '')
    .replaceAll(onTerminal ? '\r' : '\n', '')
  expect(acts.exec(left)?.[0] ?? null).toBe(null)
}

const commands: Record<string, () => string[]> = {
  run: () => ['run', 'go', '--session', session],
  'run that fails': () => ['run', 'fail', '--agent', 'boss'],
  call: () => ['call', 'helper', 'go'],
  'call that fails': () => ['call', 'boss', 'fail'],
  flow: () => ['flow', flow],
  calls: () => ['calls'],
  sessions: () => ['sessions'],
  inbox: () => ['inbox'],
  'inbox --drafts': () => ['inbox', '--drafts'],
  explain: () => ['explain', flow],
  tail: () => ['tail', '--after', '0'],
  doctor: () => ['doctor'],
  replay: () => ['replay', flow],
  'an error': () => ['run', 'x', '--agent', nasty.replaceAll('\u0000', '')],
  'a word that is no command': () => [nasty.replaceAll('\u0000', '')],
}

describe.each(Object.entries(commands))('%s', (name, args) => {
  test('prints nothing that acts', async () => {
    const words = args()
    const { out, err } = name === 'tail' ? await tailed(words) : await cli(cwd, ...words)
    expectHarmless(`${out}${err}`, false)
  })

  test('says the same in JSON, exactly and harmlessly', async () => {
    if (['tail', 'doctor', 'replay', 'a word that is no command'].includes(name)) return
    const { out } = await cli(cwd, ...args(), '--json')
    for (const line of out.split('\n').filter((one) => one !== ''))
      expect(() => JSON.parse(line) as unknown).not.toThrow()
    expectHarmless(out, false)
  })
})

test('run --json has every character of the output', async () => {
  expect(json<{ output: string }>(await cli(cwd, 'run', 'go', '--agent', 'helper', '--json')).output).toBe(
    nasty,
  )
})

test('chat prints nothing that acts, and neither do its commands', async () => {
  const { out, err } = await typed(
    cwd,
    'go\n/history\n/calls\n/sessions\n/inbox\n/drafts\n/quit\n',
    'chat',
    '--session',
    session,
  )
  expect(out).toContain('␛]52;c;ZXZpbA==␇')
  expectHarmless(`${out}${err}`, false)
})

const script = '/usr/bin/script'
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** On a real terminal, where trees are drawn and colours are used. */
describe.skipIf(!existsSync(script))('on a terminal', () => {
  test.each(['run', 'call', 'flow', 'sessions', 'inbox', 'run that fails'])('%s', async (name) => {
    const words = commands[name]?.() ?? []
    expectHarmless(await onTerminal(words), true)
  })

  test('chat', async () => {
    const text = await onTerminal(['chat', '--session', session], 'go\r/inbox\r/quit\r')
    expect(text).toContain('␛]52')
    expectHarmless(text, true)
  })
})

async function onTerminal(words: readonly string[], keys = ''): Promise<string> {
  const quoted = [process.execPath, main, ...words]
    .map((word) => `'${word.replaceAll("'", "'\\''")}'`)
    .join(' ')
  const { NO_COLOR: _none, ...env } = process.env
  const child = spawn(script, ['-qec', quoted, '/dev/null'], {
    cwd,
    env: { ...env, HOME: cwd, XDG_CONFIG_HOME: `${cwd}/xdg`, TERM: 'xterm-256color', COLUMNS: '200' },
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
  // Typed once somebody asks for it: what comes earlier would be lost.
  for (const key of keys.split(/(?<=\r)/).filter((one) => one !== '')) {
    const asked = text.length
    await vi.waitFor(() => expect(text.slice(asked)).toMatch(/boss> /), { timeout: 40_000, interval: 50 })
    child.stdin.write(key)
  }
  if (keys === '') child.stdin.end()
  await new Promise((resolve) => child.on('close', resolve))
  return text
}

async function tailed(words: readonly string[]): Promise<{ out: string; err: string }> {
  const started = start(cwd, words)
  await vi.waitFor(() => expect(started.out().length + started.err().length).toBeGreaterThan(100), {
    timeout: 40_000,
    interval: 50,
  })
  started.child.kill('SIGTERM')
  return started.ended
}
