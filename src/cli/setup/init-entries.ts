/** Where each MCP client keeps its servers, and how it writes an entry. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from './jsonc.ts'

export type Surroundings = { cwd: string; home: string; env: Readonly<Record<string, string | undefined>> }

/** A process that the client starts, or a running server. */
export type Way =
  | { kind: 'process'; command: string; args: readonly string[] }
  | { kind: 'url'; url: string; withToken: boolean }

export type Scope = 'project' | 'user'
export type Target = {
  file: string
  format: 'json' | 'toml'
  path: readonly string[]
  entry: JsonObject | string
  /** The entry is one of the list at `path`. */
  isItem?: true
}

export type McpClient = {
  id: string
  title: string
  /** Its program on the PATH. */
  program: string
  /** Files that show that it is used in this project, or on this machine. */
  traces: { project: readonly string[]; home: (at: Surroundings) => string }
  target(at: Surroundings, scope: Scope, way: Way): Target
  /** Its newer format, if the file has that. */
  newer?(target: Target, file: JsonObject): Target
  /** What else the user must know. */
  note(scope: Scope, way: Way): string | null
}

const serverName = 'tieline'
const tokenVariable = 'TIELINE_TOKEN'
/** Longer than the longest call that a server allows by default, so that the server's own answer arrives. */
const codexCallSeconds = 310
/** Codex passes only the named variables to its servers. */
const codexVariables = [
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'TIELINE_CONFIG',
  'TIELINE_DATA_DIR',
  tokenVariable,
]
const keysNote =
  'It starts its servers without your API keys. For agents that need one, keep "tieline serve" running in a ' +
  'shell that has it.'
const approveNote =
  'default_tools_approval_mode = "approve" lets it call agents without asking each time; remove the line if ' +
  'you want to be asked.'
const trustNote = (what: string): string => `It reads this file only in ${what} that you trust.`

const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
const findFolder = (at: Surroundings, variable: string, usual: string): string => {
  const named = at.env[variable]
  return named === undefined || named === '' ? join(at.home, usual) : named
}
const addToken = (
  way: Extract<Way, { kind: 'url' }>,
  token = `\${${tokenVariable}}`,
  more: JsonObject = {},
): JsonObject => {
  const headers = { ...(way.withToken ? { Authorization: `Bearer ${token}` } : {}), ...more }
  return Object.keys(headers).length === 0 ? {} : { headers }
}
/** Copilot fills these in: each of its sessions has one of its own, in its own directory. */
const copilotHeaders = {
  'x-tieline-client-session': '${COPILOT_AGENT_SESSION_ID}',
  'x-tieline-cwd': '${PWD}',
}
/** The entry of Claude Code, which others read too. */
const describeServer = (way: Way, headers: JsonObject = {}): JsonObject =>
  way.kind === 'process'
    ? { type: 'stdio', command: way.command, args: [...way.args] }
    : { type: 'http', url: way.url, ...addToken(way, undefined, headers) }
/** Claude Code waits up to 5 s for such a server: on a busy machine a first turn has no tools otherwise. */
const claudeWaits = { alwaysLoad: true }

const claude: McpClient = {
  id: 'claude',
  title: 'Claude Code',
  program: 'claude',
  traces: { project: ['.mcp.json', '.claude', 'CLAUDE.md'], home: (at) => join(at.home, '.claude') },
  target: (at, scope, way) => ({
    file:
      scope === 'project'
        ? join(at.cwd, '.mcp.json')
        : join(findFolder(at, 'CLAUDE_CONFIG_DIR', ''), '.claude.json'),
    format: 'json',
    path: ['mcpServers', serverName],
    entry: { ...describeServer(way), ...claudeWaits },
  }),
  note: (scope) => (scope === 'project' ? 'It asks once whether it may use the servers of a project.' : null),
}

const codex: McpClient = {
  id: 'codex',
  title: 'Codex',
  program: 'codex',
  traces: { project: ['.codex'], home: (at) => findFolder(at, 'CODEX_HOME', '.codex') },
  target: (at, scope, way) => ({
    file: join(
      scope === 'project' ? join(at.cwd, '.codex') : findFolder(at, 'CODEX_HOME', '.codex'),
      'config.toml',
    ),
    format: 'toml',
    path: ['mcp_servers', serverName],
    entry: {
      ...(way.kind === 'process'
        ? { command: way.command, args: [...way.args], env_vars: [...codexVariables] }
        : { url: way.url, ...(way.withToken ? { bearer_token_env_var: tokenVariable } : {}) }),
      tool_timeout_sec: codexCallSeconds,
      // Without it, a first turn may begin before the tools are there.
      required: true,
      default_tools_approval_mode: 'approve',
    },
  }),
  note: (scope) => `${approveNote}${scope === 'project' ? ` ${trustNote('projects')}` : ''}`,
}

const opencode: McpClient = {
  id: 'opencode',
  title: 'OpenCode',
  program: 'opencode',
  traces: {
    project: ['opencode.json', 'opencode.jsonc', '.opencode'],
    home: (at) => join(findFolder(at, 'XDG_CONFIG_HOME', '.config'), 'opencode'),
  },
  target: (at, scope, way) => ({
    file: chooseFile(
      scope === 'project' ? at.cwd : join(findFolder(at, 'XDG_CONFIG_HOME', '.config'), 'opencode'),
      ['opencode.json', 'opencode.jsonc'],
    ),
    format: 'json',
    path: ['mcp', serverName],
    entry:
      way.kind === 'process'
        ? { type: 'local', command: [way.command, ...way.args], enabled: true }
        : { type: 'remote', url: way.url, enabled: true, ...addToken(way, `{env:${tokenVariable}}`) },
  }),
  newer(target, file) {
    const { mcp } = file
    const isNewer = isObject(mcp) && isObject(mcp['servers']) && mcp['servers']['type'] === undefined
    const { enabled: _always, ...entry } = target.entry as JsonObject
    return isNewer ? { ...target, path: ['mcp', 'servers', serverName], entry } : target
  },
  note: () => null,
}

const copilot: McpClient = {
  id: 'copilot',
  title: 'GitHub Copilot CLI',
  program: 'copilot',
  traces: {
    project: ['.github/mcp.json', '.github/copilot-instructions.md'],
    home: (at) => findFolder(at, 'COPILOT_HOME', '.copilot'),
  },
  target: (at, scope, way) => ({
    file:
      scope === 'project'
        ? chooseFile(at.cwd, ['.mcp.json', '.github/mcp.json'])
        : join(findFolder(at, 'COPILOT_HOME', '.copilot'), 'mcp-config.json'),
    format: 'json',
    path: ['mcpServers', serverName],
    // A project's file may be Claude Code's too, which does not know the field `tools`.
    entry: {
      ...describeServer(way, scope === 'user' ? copilotHeaders : {}),
      ...(scope === 'user' ? { tools: ['*'] } : claudeWaits),
    },
  }),
  note: (scope, way) =>
    [
      ...(scope === 'project' ? [trustNote('folders')] : []),
      ...(way.kind === 'process' ? [keysNote] : []),
    ].join(' ') || null,
}

const gemini: McpClient = {
  id: 'gemini',
  title: 'Gemini CLI',
  program: 'gemini',
  traces: { project: ['.gemini', 'GEMINI.md'], home: (at) => join(at.home, '.gemini') },
  target: (at, scope, way) => ({
    file: join(scope === 'project' ? at.cwd : at.home, '.gemini', 'settings.json'),
    format: 'json',
    path: ['mcpServers', serverName],
    entry:
      way.kind === 'process'
        ? { command: way.command, args: [...way.args], trust: true }
        : { httpUrl: way.url, ...addToken(way), trust: true },
  }),
  note: () =>
    'It uses servers only in folders that you trust. "trust": true lets it call agents without asking each ' +
    'time; remove the line if you want to be asked.',
}

export const mcpClients: readonly McpClient[] = [claude, codex, opencode, copilot, gemini]

/** The file that exists, or the first name for a new one. */
const chooseFile = (directory: string, names: readonly string[]): string =>
  join(directory, names.find((name) => existsSync(join(directory, name))) ?? names[0] ?? '')

const isOnPath = (
  at: Surroundings,
  program: string,
  isSuitable = (_path: string): boolean => true,
): boolean =>
  (at.env['PATH'] ?? '')
    .split(process.platform === 'win32' ? ';' : ':')
    .some((path) => path !== '' && isSuitable(path) && hasProgram(path, program))
const hasProgram = (path: string, name: string): boolean =>
  (process.platform === 'win32' ? [`${name}.cmd`, `${name}.exe`] : [name]).some((file) =>
    existsSync(join(path, file)),
  )

/** Whether it is used in this project or on this machine. */
export const isInUse = ({ traces, program }: McpClient, at: Surroundings): boolean =>
  traces.project.some((name) => existsSync(join(at.cwd, name))) ||
  existsSync(traces.home(at)) ||
  isOnPath(at, program)

/** The files of the program that runs now. */
export type OwnFiles = { node: string; script: string }

/**
 * How a client starts us: by name where that works in every shell, by npx where the project has us, otherwise
 * by the files that run now, which only this machine has.
 */
export function chooseProcess(at: Surroundings, own: OwnFiles): Extract<Way, { kind: 'process' }> {
  const start = (command: string, ...args: string[]) =>
    ({ kind: 'process', command, args: [...args, 'mcp'] }) as const
  // While npm runs a script, the PATH begins with folders that no other shell has.
  if (isOnPath(at, serverName, (path) => !/node_modules|_npx/.test(path))) return start(serverName)
  if (hasProgram(join(at.cwd, 'node_modules', '.bin'), serverName)) return start('npx', serverName)
  return own.script.includes('_npx') ? start('npx', '-y', serverName) : start(own.node, own.script)
}
