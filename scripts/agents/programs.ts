/**
 * The five agent programs that we test with, as data: what to install, how each is told to use the scripted
 * model, how it is asked one thing without a terminal, how it is started for ACP, and how its model sees our
 * tools.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { claudeHooks, claudeScriptFile, renderClaudeScript } from '../../src/adapters/claude-code/hooks.ts'
import { installPackage } from './install.ts'

/** Where a program lives while it is tested, and the scripted model that it uses. */
export type AgentPlace = {
  /** An empty home of its own, or one that it shares with the others. */
  home: string
  /** The scripted model, as `fakeModel` names it: it ends with `/v1`. */
  model: string
}

type Command = { command: string; args: string[] }
export type AgentId = 'claude' | 'codex' | 'opencode' | 'copilot' | 'gemini'

export type AgentProgram = {
  /** As `tieline init --client` names it. */
  id: AgentId
  title: string
  version: string
  /** As it names itself to an MCP server, which is the first part of its address. */
  clientName: string
  /** Whether it says which of its sessions asks; otherwise its directory tells them apart. */
  saysSession: boolean
  /** How its model sees a tool of the server `tieline`. */
  nameTool(tool: string): { name: string; namespace?: string }
  /** Writes the files that make it use the scripted model, ask nothing and stay offline. */
  prepare(place: AgentPlace): void
  env(place: AgentPlace): Record<string, string>
  /** One request, to its end, without a terminal. */
  ask(prompt: string): Command
  /** Writes the hooks that tell it of its mail, as a user has them. Absent where it has none. */
  addHooks?(place: AgentPlace, data?: string): object
  /** Speaks ACP on standard input and output. Installs what it needs on first use. */
  acp(): Command
}

/** Nothing answers at this registry, so a download fails at once. */
const offline = { npm_config_registry: 'http://127.0.0.1:9/' }
const root = (model: string): string => model.replace(/\/v1$/, '')

function write(file: string, content: string | object): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`)
}

/** A file of a package, run by our own Node: some need a newer one than the machine has. */
const node = (name: string, version: string, file: string, ...args: string[]): Command => ({
  command: process.execPath,
  args: [join(installPackage(name, version), file), ...args],
})

const claudeVersion = '2.1.325'
const claude: AgentProgram = {
  id: 'claude',
  title: 'Claude Code',
  version: claudeVersion,
  clientName: 'claude-code',
  saysSession: true,
  nameTool: (tool) => ({ name: `mcp__tieline__${tool}` }),
  prepare({ home }) {
    write(join(home, '.claude.json'), {
      hasCompletedOnboarding: true,
      customApiKeyResponses: { approved: ['dummy'], rejected: [] },
    })
  },
  env: ({ model }) => ({
    ANTHROPIC_BASE_URL: root(model),
    ANTHROPIC_API_KEY: 'dummy',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
  ask: (prompt) =>
    node(
      '@anthropic-ai/claude-code',
      claudeVersion,
      'cli-wrapper.cjs',
      '-p',
      prompt,
      '--allowedTools',
      'mcp__tieline',
    ),
  addHooks({ home }, data = join(home, '.local', 'share', 'tieline')) {
    const settings = { hooks: claudeHooks(data) }
    write(join(home, '.claude', 'settings.json'), settings)
    mkdirSync(dirname(claudeScriptFile(data)), { recursive: true, mode: 0o700 })
    writeFileSync(claudeScriptFile(data), renderClaudeScript(data), { mode: 0o700 })
    return settings
  },
  acp: () => node('@agentclientprotocol/claude-agent-acp', '0.99.1', 'dist/index.js'),
}

const codexVersion = '0.166.0'
const codex: AgentProgram = {
  id: 'codex',
  title: 'Codex',
  version: codexVersion,
  clientName: 'codex-mcp-client',
  saysSession: true,
  // It has no hyphens in names of functions.
  nameTool: (tool) => ({ name: tool.replaceAll('-', '_'), namespace: 'mcp__tieline' }),
  prepare: ({ home, model }) =>
    write(
      join(home, '.codex', 'config.toml'),
      `model = "fake-codex"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "${model}"
env_key = "FAKE_API_KEY"
wire_api = "responses"

[features]
plugins = false
apps = false
`,
    ),
  env: ({ home }) => ({ FAKE_API_KEY: 'dummy', CODEX_HOME: join(home, '.codex') }),
  ask: (prompt) =>
    node('@openai/codex', codexVersion, 'bin/codex.js', 'exec', '--skip-git-repo-check', prompt),
  acp: () => node('@agentclientprotocol/codex-acp', '2.6.0', 'dist/index.js'),
}

const opencodeVersion = '1.18.33'
const opencodeFile = (): string => join(installPackage('opencode-ai', opencodeVersion), 'bin', 'opencode.exe')
const opencode: AgentProgram = {
  id: 'opencode',
  title: 'OpenCode',
  version: opencodeVersion,
  clientName: 'opencode',
  saysSession: false,
  nameTool: (tool) => ({ name: `tieline_${tool}` }),
  prepare({ home, model }) {
    const folder = join(home, '.config', 'opencode')
    // Offline it waits more than a minute for a package that plugins may import, unless that seems to be there.
    mkdirSync(join(folder, 'node_modules'), { recursive: true })
    write(join(folder, 'package-lock.json'), {
      lockfileVersion: 3,
      packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } },
    })
    write(join(folder, 'opencode.json'), {
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
    })
  },
  env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1', ...offline }),
  ask: (prompt) => ({ command: opencodeFile(), args: ['run', prompt] }),
  acp: () => ({ command: opencodeFile(), args: ['acp'] }),
}

const copilotVersion = '1.0.102'
const copilot: AgentProgram = {
  id: 'copilot',
  title: 'Copilot',
  version: copilotVersion,
  clientName: 'copilot-cli',
  saysSession: true,
  nameTool: (tool) => ({ name: `tieline-${tool}` }),
  prepare: () => undefined,
  env: ({ model }) => ({
    COPILOT_OFFLINE: 'true',
    COPILOT_PROVIDER_BASE_URL: model,
    COPILOT_PROVIDER_API_KEY: 'dummy',
    COPILOT_MODEL: 'fake-1',
    COPILOT_AUTO_UPDATE: 'false',
  }),
  ask: (prompt) =>
    node('@github/copilot', copilotVersion, 'npm-loader.js', '-p', prompt, '--allow-all-tools'),
  acp: () => node('@github/copilot', copilotVersion, 'npm-loader.js', '--acp'),
}

const geminiVersion = '0.61.0'
const gemini: AgentProgram = {
  id: 'gemini',
  title: 'Gemini',
  version: geminiVersion,
  clientName: 'gemini-cli-mcp-client',
  saysSession: false,
  nameTool: (tool) => ({ name: `mcp_tieline_${tool}` }),
  prepare: ({ home }) =>
    write(join(home, '.gemini', 'settings.json'), {
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      general: { disableAutoUpdate: true },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
    }),
  env: ({ model }) => ({ GEMINI_API_KEY: 'dummy', GOOGLE_GEMINI_BASE_URL: root(model) }),
  ask: (prompt) =>
    node('@google/gemini-cli', geminiVersion, 'bundle/gemini.js', '-m', 'gemini-2.5-flash', '-p', prompt),
  acp: () => node('@google/gemini-cli', geminiVersion, 'bundle/gemini.js', '--acp', '-m', 'gemini-2.5-flash'),
}

export const agentPrograms: readonly AgentProgram[] = [claude, codex, opencode, copilot, gemini]
