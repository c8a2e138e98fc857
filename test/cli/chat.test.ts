/** What is typed while an agent works, in a conversation with a person at a terminal. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import type { CommandInput } from '../../src/cli/command.ts'
import { runChat } from '../../src/cli/chat/chat-talk.ts'
import type { Output } from '../../src/cli/show/terminal.ts'
import { cli, patience, project, start } from '../kits/cli.ts'

vi.setConfig(patience)

const agents = {
  slow: { driver: 'scripted', script: [{ when: { task: 'hang' }, hang: true }, { say: 'done: {{task}}' }] },
}

/** A person at a terminal; the server runs in this process. */
function person(flags: CommandInput['flags'] = {}) {
  const { config, data } = project({ agents })
  const [keys, said] = [new PassThrough(), { text: '' }]
  const typed = Object.assign(keys, { isTTY: true, setRawMode: () => undefined })
  const out = Object.assign(
    new PassThrough().on('data', (text) => (said.text += String(text))),
    { isTTY: true, columns: 100, rows: 30 },
  ) as unknown as Output
  const ended = runChat({
    words: [],
    flags: { config, 'data-dir': data, ...flags },
    env: { TERM: 'xterm', NO_COLOR: '1', TIELINE_PORT: '0' },
    in: typed,
    out,
    err: out,
    signal: new AbortController().signal,
  })
  return {
    data,
    ended,
    type: (text: string) => keys.write(text),
    says: (text: string | RegExp) =>
      vi.waitFor(() => expect(said.text).toMatch(text), { timeout: 40_000, interval: 20 }),
    said: () => said.text,
  }
}

test('/help and /sessions answer at once, /cancel cancels, and the next message is answered', async () => {
  const { ended, type, says } = person()
  await says(/Ctrl-C cancels what the agent does\.[\s\S]*slow> /)
  type('hang\r')
  await says('thinking')
  type('/help\r/sessions\r')
  await says(/\/quit +leave;/)
  await says(/\d{6} {2}slow {2}streaming/)
  type('/cancel\r')
  await says(/Cancelled: one turn\.[\s\S]*slow: cancelled/)
  type('tea\r')
  await says('done: tea')
  type('/quit\r')
  expect(await ended).toBe(0)
})

test('/quit cancels and leaves', async () => {
  const { ended, type, says, said } = person()
  await says('slow> ')
  type('hang\r')
  await says('thinking')
  type('/quit\r')
  expect(await ended).toBe(0)
  expect(said()).not.toContain('still runs')
})

test('a message that is queued says so, is sent when the turn is over, and is dropped by a cancel', async () => {
  const { ended, type, says, said } = person()
  await says('slow> ')
  type('hang\r')
  await says('thinking')
  type('tea\r')
  await says('(queued, slow gets it after this: tea)')
  type('/cancel\r')
  await says(/\(not sent: tea\)[\s\S]*slow: cancelled/)
  type('half a ')
  await says('half a ')
  type('line\r')
  await says('done: half a line')
  expect(said()).not.toContain('done: tea')
  type('/quit\r')
  expect(await ended).toBe(0)
})

test('a queued message is sent when the turn has ended by itself', async () => {
  const { data, ended, type, says, said } = person()
  await says('slow> ')
  type('hang\r')
  await says('thinking')
  type('tea\rand mi')
  await says('slow> and mi')
  const { url } = JSON.parse(readFileSync(join(data, 'server.json'), 'utf8')) as { url: string }
  // Somebody else ends it.
  await fetch(`${url}/api/sessions/${/ses_\d+/.exec(said())?.[0]}/cancel`, { method: 'POST', body: '{}' })
  await says(/slow: cancelled[\s\S]*slow> tea\n[\s\S]*done: tea/)
  type('lk\r')
  await says('done: and milk')
  type('/quit\r')
  expect(await ended).toBe(0)
})

test('commands are answered with --quiet too', async () => {
  const { ended, type, says, said } = person({ quiet: true })
  type('hang\n')
  await vi.waitFor(
    () => {
      type('/sessions\n')
      expect(said()).toContain('streaming')
    },
    { timeout: 40_000, interval: 500 },
  )
  type('/cancel\n')
  await says('Cancelled: one turn.')
  type('tea\r')
  await says('done: tea')
  type('/quit\r')
  expect(await ended).toBe(0)
})

test('a pipe is a script whose lines wait, but a /cancel that comes meanwhile does not', async () => {
  const { cwd } = project({ agents })
  const talking = start(cwd, ['chat'])
  await talking.says('slow in ')
  talking.child.stdin.write('hang\n')
  await vi.waitFor(
    async () => expect((await cli(cwd, 'sessions', '--json')).out).toContain('"status":"streaming"'),
    { timeout: 60_000, interval: 100 },
  )
  talking.child.stdin.write('/cancel\n')
  await talking.says('slow: cancelled')
  talking.child.stdin.end('tea\n/cancel\n/quit\n')
  expect(await talking.ended).toMatchObject({
    out: expect.stringMatching(/done: tea\nNothing runs here\.\n$/) as unknown,
  })
})

test('of lines that are pasted at once none is lost, and what follows the last one is at the prompt', async () => {
  const { ended, type, says } = person()
  await says(/slow> /)
  type('/calls\rone\rtwo\rthr')
  await says(/No calls yet\.[\s\S]*done: one[\s\S]*done: two/)
  type('ee\r')
  await says('done: three')
  type('/quit\r')
  expect(await ended).toBe(0)
})
