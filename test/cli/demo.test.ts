/** What the demo tells a person to type next works as printed. */
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { nameProgram, runDemo } from '../../src/cli/demo/work.ts'
import type { Output } from '../../src/cli/show/terminal.ts'
import { cli, patience, project, typed } from '../kits/cli.ts'

vi.setConfig(patience)

test('the commands below the demo work as printed: the planner that you talk to has something to build', async () => {
  const over = new AbortController()
  let said = ''
  let place: string | null = null
  const out = Object.assign(
    new PassThrough().on('data', (text) => (said += String(text))),
    { isTTY: true, columns: 200, rows: 40 },
  ) as unknown as Output
  const ended = runDemo({
    words: [],
    flags: {},
    env: { TERM: 'xterm', NO_COLOR: '1', npm_lifecycle_event: 'start', npm_execpath: 'npm-cli.js' },
    out,
    err: out,
    signal: over.signal,
  })
  try {
    await vi.waitFor(() => expect(said).toContain('Ctrl-C ends it.'), { timeout: 60_000, interval: 50 })
    const printed = (name: string): string[] =>
      new RegExp(`^ {2}node bin/tieline\\.js (${name} .+)$`, 'm').exec(said)?.[1]?.split(' ') ?? []
    const { cwd } = project()
    const talked = await typed(cwd, 'Build it again.\n', ...printed('chat'))
    expect(talked.out).toContain('are written, tested and approved.')
    const { out: flows } = await cli(cwd, 'flows', ...printed('tail').slice(1))
    expect(flows).toContain('Build it again.')
    place = dirname(printed('chat').at(-1) ?? '')
  } finally {
    over.abort()
    await ended
    if (place !== null) rmSync(place, { recursive: true, force: true })
  }
})

test('a clone names the program in it, because npx would install and build the clone first', () => {
  const npm = { npm_execpath: 'npm-cli.js' }
  expect([
    nameProgram({ env: { ...npm, npm_lifecycle_event: 'start' } }),
    nameProgram({ env: { ...npm, npm_lifecycle_event: 'npx' } }),
    nameProgram({ env: {} }),
  ]).toEqual(['node bin/tieline.js', 'npx tieline', 'tieline'])
})
