/**
 * The agents that people already have, as data: how each is started, how its login shows, and in what it differs
 * from the protocol. Nothing here is a branch in code: a quirk is a field that every agent has, and an agent
 * that is only a `command` has the values of `plainQuirks`.
 */
import type { Permissions, PresetName } from '../../model/agent.ts'

/**
 * What `usage` in the answer to a prompt counts. `turn`: this prompt. `last`: only its last model request.
 * `process`: everything since the process was started. `none`: it is not there.
 */
export type UsageMeaning = 'turn' | 'last' | 'process' | 'none'

export type Quirks = {
  usage: UsageMeaning
  /** Chunks of the old conversation come after the answer to `session/load`, until a prompt is sent. */
  replaysAfterLoad: boolean
  /** Its own mode for each policy; where it has none, its usual one. */
  modes: Partial<Record<Permissions, string>>
  /** Given with every session that it opens, as `_meta`. */
  meta?: Readonly<Record<string, unknown>>
  /** Whether it asks before it acts: `all` for every tool, `writes` for those that change something. */
  asks: 'all' | 'writes' | 'configured' | 'unknown'
  /**
   * From this version on, its model's words carry a message id. What has none is its adapter's: a warning, or an
   * error in place of an answer.
   */
  namesMessagesSince?: string
}

export type Login = {
  /**
   * Relative to the home directory, or to what `homeVariable` names. One of them is there after a login, with that
   * word in it where the file is there before too.
   */
  files: readonly (string | { file: string; holds: string })[]
  /** A variable that moves its directory, and which directory that is at home: `CODEX_HOME`, `.codex`. */
  homeVariable: { name: string; directory: string } | null
  /** It keeps its login elsewhere too (a keychain), so that missing files prove nothing. */
  elsewhere: boolean
  /** What to do, for a person. */
  cure: string
}

export type Adapter = {
  /** A package of the npm registry that speaks ACP for the program. Fetched by `tieline up`, never by us. */
  package: string
  version: string
  bin: string
  /** The variable that tells it where the user's own program is. */
  programVariable: string
}

export type Preset = {
  name: PresetName
  title: string
  description: string
  /** The user's own program, on the PATH. */
  program: string
  /** The npm package and version that our tests run. */
  package: { name: string; version: string }
  versionArgs: readonly string[]
  /** The oldest that was tried; null where none is known to fail. */
  versionMin: string | null
  /** Null where the program speaks ACP itself. */
  adapter: Adapter | null
  /** What starts it as an agent: arguments of the adapter, or of the program. */
  args: readonly string[]
  /** Set for it, besides what it inherits. */
  env: Readonly<Record<string, string>>
  /** Variables of its own that it must not inherit: it would take itself for part of another session. */
  unset: readonly string[]
  /** Variables with which it bills an account with a key: kept from it unless `billing = "key"`. */
  keyVariables: readonly string[]
  /** Below home: where it keeps its login and its sessions. A sandbox lets it see and change these. */
  places: readonly string[]
  login: Login
  /** How to get the program, for a person. */
  install: string
  quirks: Quirks
}

/** Any other agent that speaks ACP. */
export const plainQuirks: Quirks = { usage: 'turn', replaysAfterLoad: false, modes: {}, asks: 'unknown' }

const claude: Preset = {
  name: 'claude',
  title: 'Claude Code',
  description: 'Claude Code on this machine: reads, edits and runs code in the working directory.',
  program: 'claude',
  package: { name: '@anthropic-ai/claude-code', version: '2.1.325' },
  versionArgs: ['--version'],
  versionMin: '2.0.0',
  adapter: {
    package: '@agentclientprotocol/claude-agent-acp',
    version: '0.99.1',
    bin: 'claude-agent-acp',
    programVariable: 'CLAUDE_CODE_EXECUTABLE',
  },
  args: [],
  env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
  unset: [
    'CLAUDECODE',
    'CLAUDE_CODE_ENTRYPOINT',
    'CLAUDE_CODE_SESSION_ID',
    'CLAUDE_CODE_SSE_PORT',
    'CLAUDE_PROJECT_DIR',
  ],
  keyVariables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'],
  places: ['.claude', '.claude.json'],
  login: {
    files: ['.credentials.json'],
    homeVariable: { name: 'CLAUDE_CONFIG_DIR', directory: '.claude' },
    elsewhere: true,
    cure: 'run "claude" once and log in with /login',
  },
  install: 'npm install -g @anthropic-ai/claude-code',
  quirks: {
    usage: 'turn',
    replaysAfterLoad: false,
    // We rule on what it asks for; without asking it would not even start for root.
    modes: { ask: 'default', allow: 'default', deny: 'default', readonly: 'default' },
    meta: { claudeCode: { options: { allowDangerouslySkipPermissions: false } } },
    asks: 'all',
  },
}

const codex: Preset = {
  name: 'codex',
  title: 'Codex',
  description: 'Codex on this machine: reads, edits, reviews and runs code in the working directory.',
  program: 'codex',
  package: { name: '@openai/codex', version: '0.166.0' },
  versionArgs: ['--version'],
  versionMin: '0.100.0',
  adapter: {
    package: '@agentclientprotocol/codex-acp',
    version: '2.6.0',
    bin: 'codex-acp',
    programVariable: 'CODEX_PATH',
  },
  args: [],
  env: {},
  unset: [],
  keyVariables: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
  places: ['.codex'],
  login: {
    files: ['auth.json'],
    homeVariable: { name: 'CODEX_HOME', directory: '.codex' },
    elsewhere: true,
    cure: 'run "codex login"',
  },
  install: 'npm install -g @openai/codex',
  // Its own default mode asks a model for leave, which costs tokens and is no person.
  quirks: {
    usage: 'turn',
    replaysAfterLoad: false,
    modes: {
      ask: 'workspace-write',
      allow: 'agent-full-access',
      deny: 'workspace-write',
      readonly: 'read-only',
    },
    asks: 'writes',
    namesMessagesSince: '2.6.0',
  },
}

const opencode: Preset = {
  name: 'opencode',
  title: 'OpenCode',
  description: 'OpenCode on this machine: reads, edits and runs code in the working directory.',
  program: 'opencode',
  package: { name: 'opencode-ai', version: '1.18.33' },
  versionArgs: ['--version'],
  versionMin: '1.0.0',
  adapter: null,
  args: ['acp'],
  env: { OPENCODE_DISABLE_AUTOUPDATE: '1' },
  unset: [],
  keyVariables: [],
  places: [
    '.config/opencode',
    '.local/share/opencode',
    '.local/state/opencode',
    '.cache/opencode',
    '.opencode',
  ],
  login: {
    files: [
      '.local/share/opencode/auth.json',
      { file: '.config/opencode/opencode.json', holds: '"provider"' },
    ],
    homeVariable: null,
    // It has models that need no login.
    elsewhere: true,
    cure: 'run "opencode auth login"',
  },
  install: 'npm install -g opencode-ai',
  quirks: { usage: 'last', replaysAfterLoad: false, modes: { readonly: 'plan' }, asks: 'configured' },
}

const copilot: Preset = {
  name: 'copilot',
  title: 'GitHub Copilot CLI',
  description: 'GitHub Copilot on this machine: reads, edits and runs code in the working directory.',
  program: 'copilot',
  package: { name: '@github/copilot', version: '1.0.102' },
  versionArgs: ['--version'],
  versionMin: '1.0.0',
  adapter: null,
  args: ['--acp'],
  env: { COPILOT_AUTO_UPDATE: 'false' },
  unset: [],
  keyVariables: ['COPILOT_PROVIDER_API_KEY'],
  places: ['.copilot', '.config/github-copilot'],
  login: {
    files: [
      { file: '.copilot/config.json', holds: 'logged_in_users' },
      '.config/github-copilot/apps.json',
      '.config/github-copilot/hosts.json',
    ],
    homeVariable: null,
    elsewhere: true,
    cure: 'run "copilot" once and log in with /login',
  },
  install: 'npm install -g @github/copilot',
  quirks: { usage: 'process', replaysAfterLoad: false, modes: {}, asks: 'writes' },
}

const gemini: Preset = {
  name: 'gemini',
  title: 'Gemini CLI',
  description: 'Gemini CLI on this machine: reads, edits and runs code in the working directory.',
  program: 'gemini',
  package: { name: '@google/gemini-cli', version: '0.61.0' },
  versionArgs: ['--version'],
  versionMin: '0.30.0',
  adapter: null,
  args: ['--acp'],
  env: {},
  unset: [],
  keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  places: ['.gemini'],
  login: {
    files: [
      '.gemini/oauth_creds.json',
      { file: '.gemini/settings.json', holds: '"selectedType"' },
      '.gemini/google_accounts.json',
    ],
    homeVariable: null,
    elsewhere: false,
    // It ended for accounts of persons: what is left is a key.
    cure: 'set GEMINI_API_KEY, choose the key in "gemini" once, and write billing = "key"',
  },
  install: 'npm install -g @google/gemini-cli',
  quirks: { usage: 'none', replaysAfterLoad: true, modes: { allow: 'yolo' }, asks: 'all' },
}

export const presets: Readonly<Record<PresetName, Preset>> = { claude, codex, opencode, copilot, gemini }
