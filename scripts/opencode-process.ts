/** A real opencode with our plugin and a scripted model, in an empty home, driven over its own HTTP API. */
import { spawn } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OpencodeMessage, OpencodeSession } from '../src/adapters/opencode/opencode-api.ts'
import { trustText } from '../test/kits/trust.ts'
import { installPackage } from './agents/install.ts'
import { buildOnce } from './agents/process.ts'

export const version = '1.18.33'
export const agentName = 'opencode'

const root = fileURLToPath(new URL('..', import.meta.url))
const startMsMax = 90_000

export type Opencode = {
  directory: string
  /** Where AgentFS keeps mail. */
  mailDir: string
  /** Where our server listens, as it says itself. */
  server(): { url: string; pid: number } | null
  list(): Promise<OpencodeSession[]>
  create(title: string): Promise<string>
  /** Returns when it was answered. */
  prompt(session: string, text: string): Promise<OpencodeMessage>
  messages(session: string): Promise<OpencodeMessage[]>
  status(): Promise<Record<string, { type: string }>>
  remove(session: string): Promise<void>
  restart(): Promise<void>
  log(): string
  close(): Promise<void>
}

type Started = { url: string; pid: number; log: () => string }

async function start(home: string, directory: string, dataDir: string): Promise<Started> {
  let said = ''
  const child = spawn(
    join(installPackage('opencode-ai', version), 'bin', 'opencode.exe'),
    ['serve', '--port', '0', '--hostname', '127.0.0.1', '--print-logs', '--log-level', 'WARN'],
    {
      cwd: directory,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Nothing answers at this registry, so every download fails.
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: home,
        TERM: 'dumb',
        NO_COLOR: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        TIELINE_DATA_DIR: dataDir,
        TIELINE_PORT: '0',
        npm_config_registry: 'http://127.0.0.1:9/',
      },
    },
  )
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`opencode did not listen:\n${said}`)), startMsMax)
    const hear = (chunk: Buffer): void => {
      said += chunk.toString()
      const found = /listening on (http:\/\/\S+)/.exec(said)?.[1]
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.on('error', reject)
  })
  return { url, pid: child.pid ?? 0, log: () => said }
}

export async function startOpencode(model: string, secret: string): Promise<Opencode> {
  const home = mkdtempSync(join(tmpdir(), 'tieline-opencode-'))
  const [directory, dataDir] = [join(home, 'project'), join(home, 'data')]
  prepare(home, directory, model, secret)
  let running = await start(home, directory, dataDir)
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${running.url}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
    return JSON.parse(text) as T
  }
  const serverFile = join(dataDir, 'server.json')
  const server = (): { url: string; pid: number } | null =>
    existsSync(serverFile)
      ? (JSON.parse(readFileSync(serverFile, 'utf8')) as { url: string; pid: number })
      : null
  return {
    directory,
    mailDir: join(home, '.local', 'share', 'opencode', 'storage', 'call-response'),
    server,
    log: () =>
      [running.log(), join(dataDir, 'serve.log')]
        .map((text, at) => (at === 0 ? text : existsSync(text) ? readFileSync(text, 'utf8') : ''))
        .join('\n'),
    list: () => ask('GET', '/session'),
    create: async (title) =>
      (await ask<OpencodeSession>('POST', '/session', title === '' ? {} : { title })).id,
    prompt: (session, text) =>
      ask('POST', `/session/${session}/message`, { parts: [{ type: 'text', text }] }),
    messages: (session) => ask('GET', `/session/${session}/message`),
    status: () => ask('GET', '/session/status'),
    remove: async (session) => void (await ask('DELETE', `/session/${session}`)),
    async restart() {
      process.kill(-running.pid, 'SIGKILL')
      running = await start(home, directory, dataDir)
    },
    async close() {
      process.kill(-running.pid, 'SIGKILL')
      const left = server()
      if (left !== null) process.kill(left.pid, 'SIGTERM')
      await new Promise((resolve) => setTimeout(resolve, 500))
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function prepare(home: string, directory: string, model: string, secret: string): void {
  mkdirSync(directory, { recursive: true })
  // Offline, opencode waits more than a minute for a package that plugins may import, unless it seems to be
  // installed. Our plugin does not import it.
  const config = join(home, '.config', 'opencode')
  mkdirSync(join(config, 'node_modules'), { recursive: true })
  writeFileSync(
    join(config, 'package-lock.json'),
    JSON.stringify({
      lockfileVersion: 3,
      packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } },
    }),
  )
  writeFileSync(
    join(directory, 'opencode.json'),
    JSON.stringify({
      provider: {
        fake: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: model, apiKey: 'dummy' },
          models: { scripted: { name: 'scripted' } },
        },
      },
      model: 'fake/scripted',
      small_model: 'fake/scripted',
      enabled_providers: ['fake'],
      autoupdate: false,
      share: 'disabled',
      plugin: ['tieline'],
    }),
  )
  // Installed the way opencode does it: the published package with its dependencies.
  const installed = join(home, '.cache', 'opencode', 'packages', 'tieline@latest', 'node_modules', 'tieline')
  mkdirSync(installed, { recursive: true })
  copyFileSync(join(root, 'package.json'), join(installed, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'))
  buildOnce()
  for (const folder of ['bin', 'dist'])
    cpSync(join(root, folder), join(installed, folder), { recursive: true })
  const text = [
    '[agents.coder]',
    'description = "knows the secret word"',
    'driver = "scripted"',
    `script = [{ say = "The secret word is ${secret}." }]`,
    '',
  ].join('\n')
  writeFileSync(join(directory, 'tieline.toml'), text)
  trustText({}, home, join(directory, 'tieline.toml'), text)
  // The server that the plugin starts has the user's file only.
  mkdirSync(join(home, '.config', 'tieline'), { recursive: true })
  writeFileSync(join(home, '.config', 'tieline', 'tieline.toml'), text)
}
