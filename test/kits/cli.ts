/** The command line as people use it: processes of their own, a scratch home, scripted agents, no terminal. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, vi } from 'vitest'
import { trustText } from './trust.ts'

/** A busy machine may need long to start a process. */
export const patience = { testTimeout: 120_000, hookTimeout: 120_000 }

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
/** Compiled code is the same in every scratch home. */
const cache = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))
/** Directories to remove after the tests of a file. */
export const garbage: string[] = []
const children = new Set<ChildProcessWithoutNullStreams>()
afterAll(async () => {
  children.forEach((child) => child.kill('SIGKILL'))
  await Promise.all(garbage.map((path) => rm(path, { recursive: true, force: true })))
}, patience.hookTimeout)

const agents = {
  boss: {
    driver: 'scripted',
    description: 'delegates',
    tools: ['sub_agent'],
    allowSubAgentCalls: true,
    script: [
      {
        when: { iteration: 1 },
        tools: [{ name: 'sub_agent', input: { agent_name: 'helper', task: 'Now: {{task}}' } }],
      },
      { say: 'helper said {{result.output}}' },
    ],
  },
  helper: {
    driver: 'scripted',
    tools: ['list'],
    script: [
      { when: { task: 'break' }, fail: 'broken on purpose' },
      { when: { task: 'wait' }, hang: true },
      { when: { iteration: 1 }, tools: [{ name: 'list' }] },
      { say: 'hello 世界' },
    ],
  },
}

/** A project with a configuration and a home of its own. */
export function project(more: object = {}): { cwd: string; data: string; config: string } {
  const cwd = mkdtempSync(join(tmpdir(), 'tieline-cli-'))
  garbage.push(cwd)
  const config = join(cwd, 'tieline.json')
  const text = JSON.stringify({ server: { dataDir: './data', port: 0 }, agents, ...more })
  writeFileSync(config, text)
  trustText({ XDG_CONFIG_HOME: join(cwd, 'xdg') }, cwd, config, text)
  return { cwd, data: join(cwd, 'data'), config }
}

export type Ended = { code: number | null; out: string; err: string }
export type Started = {
  child: ChildProcessWithoutNullStreams
  out(): string
  err(): string
  ended: Promise<Ended>
  says(text: string): Promise<void>
}

export function start(cwd: string, args: readonly string[], env: Record<string, string> = {}): Started {
  const { FORCE_COLOR: _colour, NODE_OPTIONS: _options, TIELINE_SERVER: _server, ...inherited } = process.env
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: {
      ...inherited,
      HOME: cwd,
      XDG_CONFIG_HOME: join(cwd, 'xdg'),
      XDG_CACHE_HOME: cache,
      NO_COLOR: '1',
      ...env,
    },
  })
  children.add(child)
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text))
  const ended = once(child, 'close').then(([code]) => {
    children.delete(child)
    return { code: code as number | null, ...said }
  })
  return {
    child,
    ended,
    out: () => said.out,
    err: () => said.err,
    says: (text) =>
      vi.waitFor(() => expect(`${said.out}${said.err}`).toContain(text), { timeout: 40_000, interval: 20 }),
  }
}

export function cli(cwd: string, ...args: string[]): Promise<Ended> {
  const started = start(cwd, args)
  started.child.stdin.end()
  return started.ended
}

export function typed(cwd: string, input: string, ...args: string[]): Promise<Ended> {
  const started = start(cwd, args)
  started.child.stdin.end(input)
  return started.ended
}

export const json = <T>({ out }: Ended): T => JSON.parse(out) as T

/** One pattern for several lines of output. */
export const matchLines = (...lines: RegExp[]): RegExp =>
  new RegExp(lines.map(({ source }) => source).join('\\n'), lines[0]?.flags)
