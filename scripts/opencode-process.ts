/** A real opencode with our plugin, in an empty home, with a scripted model; driven over its own HTTP. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OpencodeMessage, OpencodeSession } from '../src/adapters/opencode/opencode-api.ts'
import { packageDir } from './agents-cache.ts'

export const version = '1.18.33'
export const agentName = 'opencode'

const plugin = fileURLToPath(new URL('../src/adapters/opencode/plugin.ts', import.meta.url))
const startMsMax = 90_000

export type Opencode = {
  dataDir: string
  directory: string
  list(): Promise<OpencodeSession[]>
  create(title: string): Promise<string>
  /** Returns when it was answered. */
  prompt(session: string, text: string): Promise<OpencodeMessage>
  messages(session: string): Promise<OpencodeMessage[]>
  status(): Promise<Record<string, { type: string }>>
  remove(session: string): Promise<void>
  log(): string
  close(): Promise<void>
}

export async function startOpencode(model: string, secret: string): Promise<Opencode> {
  const home = mkdtempSync(join(tmpdir(), 'tieline-opencode-'))
  const [directory, dataDir] = [join(home, 'project'), join(home, 'data')]
  prepare(home, directory, model, secret)
  let said = ''
  const program = join(packageDir('opencode-ai', version), 'bin', process.platform === 'win32' ? 'opencode.exe' : 'opencode.exe')
  const child = spawn(program, ['serve', '--port', '0', '--hostname', '127.0.0.1', '--print-logs', '--log-level', 'WARN'], {
    cwd: directory, detached: true, stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'dumb', NO_COLOR: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1', TIELINE_DATA_DIR: dataDir, TIELINE_PORT: '0', npm_config_registry: 'http://127.0.0.1:9/' },
  })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`opencode did not listen:\n${said}`)), startMsMax)
    child.stdout.on('data', () => {
      const found = /listening on (http:\/\/\S+)/.exec(said)?.[1]
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    })
    child.on('error', reject)
  })
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${url}${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }) })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
    return JSON.parse(text) as T
  }
  return {
    dataDir, directory, log: () => said,
    list: () => ask('GET', '/session'),
    create: async (title) => (await ask<OpencodeSession>('POST', '/session', { title })).id,
    prompt: (session, text) => ask('POST', `/session/${session}/message`, { parts: [{ type: 'text', text }] }),
    messages: (session) => ask('GET', `/session/${session}/message`),
    status: () => ask('GET', '/session/status'),
    remove: async (session) => void (await ask('DELETE', `/session/${session}`)),
    async close() {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
      const file = join(dataDir, 'server.json')
      if (existsSync(file)) process.kill((JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid, 'SIGTERM')
      await new Promise((resolve) => setTimeout(resolve, 500))
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function prepare(home: string, directory: string, model: string, secret: string): void {
  mkdirSync(directory, { recursive: true })
  // Offline, opencode waits more than a minute for a package that plugins may import, unless it takes it for installed. Ours does not import it.
  const config = join(home, '.config', 'opencode')
  mkdirSync(join(config, 'node_modules'), { recursive: true })
  writeFileSync(join(config, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } }))
  writeFileSync(join(directory, 'opencode.json'), JSON.stringify({
    provider: { fake: { npm: '@ai-sdk/openai-compatible', options: { baseURL: model, apiKey: 'dummy' }, models: { scripted: { name: 'scripted' } } } },
    model: 'fake/scripted', small_model: 'fake/scripted', enabled_providers: ['fake'], autoupdate: false, share: 'disabled', plugin: [plugin],
  }))
  writeFileSync(join(directory, 'tieline.toml'), `[agents.coder]\ndescription = "knows the secret word"\ndriver = "scripted"\nscript = [{ say = "The secret word is ${secret}." }]\n`)
}
