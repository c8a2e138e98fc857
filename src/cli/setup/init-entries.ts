/** Where each MCP client keeps its servers, and how it writes one. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from './jsonc.ts'

export type Surroundings = { cwd: string; home: string; env: Readonly<Record<string, string | undefined>> }

/** A process of our own that the client starts, or a server that runs already. */
export type Way =
  | { kind: 'process'; command: string; args: readonly string[] }
  | { kind: 'url'; url: string; withToken: boolean }

export type Scope = 'project' | 'user'
export type Target = { file: string; format: 'json' | 'toml'; path: readonly string[]; entry: JsonObject }

export type McpClient = {
  id: string
  title: string
  /** Its program, looked for on the PATH. */
  program: string
  /** What shows that somebody uses it in this project, or on this machine. */
  traces: { project: readonly string[]; home: (at: Surroundings) => string }
  target(at: Surroundings, scope: Scope, way: Way): Target
  /** Where its newer version writes the same in another way, by what the file has already. */
  newer?(target: Target, file: JsonObject): Target
  /** What to know besides the entry. */
  note(scope: Scope, way: Way): string | null
}

export const serverName = 'tieline'
const tokenVariable = 'TIELINE_TOKEN'
/**
 * Longer than the longest call that a server allows by default, so that the answer says what happened and not
 * the client.
 */
const codexCallSeconds = 310
/** Codex starts servers with nothing of its environment but what is named. */
const codexVariables = [
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'TIELINE_CONFIG',
  'TIELINE_DATA_DIR',
  tokenVariable,
]
const keysNote =
  'It starts its servers without your API keys. Agents that need one: keep "tieline serve" running in a shell that has it.'

const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
const folder = (at: Surroundings, variable: string, usual: string): string => {
  const named = at.env[variable]
  return named === undefined || named === '' ? join(at.home, usual) : named
}
const headersWith = (way: Extract<Way, { kind: 'url' }>, token: string): JsonObject =>
  way.withToken ? { headers: { Authorization: `Bearer ${token}` } } : {}

const claude: McpClient = {
  id: 'claude',
  title: 'Claude Code',
  program: 'claude',
  traces: { project: ['.mcp.json', '.claude', 'CLAUDE.md'], home: (at) => join(at.home, '.claude') },
  target: (at, scope, way) => ({
    file:
      scope === 'project'
        ? join(at.cwd, '.mcp.json')
        : join(folder(at, 'CLAUDE_CONFIG_DIR', ''), '.claude.json'),
    format: 'json',
    path: ['mcpServers', serverName],
    entry:
      way.kind === 'process'
        ? { type: 'stdio', command: way.command, args: [...way.args] }
        : { type: 'http', url: way.url, ...headersWith(way, `\${${tokenVariable}}`) },
  }),
  note: (scope) => (scope === 'project' ? 'It asks once whether it may use the servers of a project.' : null),
}

const codex: McpClient = {
  id: 'codex',
  title: 'Codex',
  program: 'codex',
  traces: { project: ['.codex'], home: (at) => folder(at, 'CODEX_HOME', '.codex') },
  target: (at, scope, way) => ({
    file: join(
      scope === 'project' ? join(at.cwd, '.codex') : folder(at, 'CODEX_HOME', '.codex'),
      'config.toml',
    ),
    format: 'toml',
    path: ['mcp_servers', serverName],
    entry: {
      ...(way.kind === 'process'
        ? { command: way.command, args: [...way.args], env_vars: [...codexVariables] }
        : { url: way.url, ...(way.withToken ? { bearer_token_env_var: tokenVariable } : {}) }),
      tool_timeout_sec: codexCallSeconds,
      default_tools_approval_mode: 'approve',
    },
  }),
  note: (scope) =>
    `default_tools_approval_mode = "approve" lets it call agents without asking each time; take the line out if you want to be asked.${scope === 'project' ? ' It reads this file only in projects that you trust.' : ''}`,
}

const opencode: McpClient = {
  id: 'opencode',
  title: 'OpenCode',
  program: 'opencode',
  traces: {
    project: ['opencode.json', 'opencode.jsonc', '.opencode'],
    home: (at) => join(folder(at, 'XDG_CONFIG_HOME', '.config'), 'opencode'),
  },
  target: (at, scope, way) => ({
    file: oneThatIsThere(
      scope === 'project' ? at.cwd : join(folder(at, 'XDG_CONFIG_HOME', '.config'), 'opencode'),
      ['opencode.json', 'opencode.jsonc'],
    ),
    format: 'json',
    path: ['mcp', serverName],
    entry:
      way.kind === 'process'
        ? { type: 'local', command: [way.command, ...way.args], enabled: true }
        : { type: 'remote', url: way.url, enabled: true, ...headersWith(way, `{env:${tokenVariable}}`) },
  }),
  newer(target, file) {
    const { mcp } = file
    const isNewer = isObject(mcp) && isObject(mcp['servers']) && mcp['servers']['type'] === undefined
    const { enabled: _always, ...entry } = target.entry
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
    home: (at) => folder(at, 'COPILOT_HOME', '.copilot'),
  },
  target: (at, scope, way) => ({
    file:
      scope === 'project'
        ? oneThatIsThere(at.cwd, ['.mcp.json', '.github/mcp.json'])
        : join(folder(at, 'COPILOT_HOME', '.copilot'), 'mcp-config.json'),
    format: 'json',
    path: ['mcpServers', serverName],
    entry: {
      ...(way.kind === 'process'
        ? { type: 'stdio', command: way.command, args: [...way.args] }
        : { type: 'http', url: way.url, ...headersWith(way, `\${${tokenVariable}}`) }),
      // A project's file may be Claude Code's too, which does not know this field.
      ...(scope === 'user' ? { tools: ['*'] } : {}),
    },
  }),
  note: (scope, way) =>
    [
      scope === 'project' ? 'It reads this file only in folders that you trust.' : '',
      way.kind === 'process' ? keysNote : '',
    ]
      .filter((text) => text !== '')
      .join(' ') || null,
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
        ? { command: way.command, args: [...way.args] }
        : { httpUrl: way.url, ...headersWith(way, `\${${tokenVariable}}`) },
  }),
  note: () => 'It uses servers only in folders that you trust.',
}

export const mcpClients: readonly McpClient[] = [claude, codex, opencode, copilot, gemini]

/** The first name is for whoever has none yet. */
const oneThatIsThere = (directory: string, names: readonly string[]): string =>
  join(directory, names.find((name) => existsSync(join(directory, name))) ?? names[0] ?? '')

export function isInUse(client: McpClient, at: Surroundings): 'project' | 'machine' | null {
  if (client.traces.project.some((name) => existsSync(join(at.cwd, name)))) return 'project'
  return existsSync(client.traces.home(at)) ||
    foldersIn(at).some((path) => programNames(client.program).some((name) => existsSync(join(path, name))))
    ? 'machine'
    : null
}

const foldersIn = ({ env }: Surroundings): string[] =>
  (env['PATH'] ?? '').split(process.platform === 'win32' ? ';' : ':').filter((path) => path !== '')
const programNames = (name: string): string[] =>
  process.platform === 'win32' ? [`${name}.cmd`, `${name}.exe`] : [name]

/**
 * How a client starts us: by name where that works in every shell, by npx where the project has us, otherwise
 * by the files that run now, which only this machine has.
 */
export function ownProcess(
  at: Surroundings,
  own: { node: string; script: string },
): Extract<Way, { kind: 'process' }> {
  const folders = foldersIn(at)
  // npm puts its own folders before everything while it runs a script: nobody else has them.
  if (
    folders.some(
      (path) =>
        !path.includes('node_modules') &&
        !path.includes('_npx') &&
        programNames(serverName).some((name) => existsSync(join(path, name))),
    )
  )
    return { kind: 'process', command: serverName, args: ['mcp'] }
  if (programNames(serverName).some((name) => existsSync(join(at.cwd, 'node_modules', '.bin', name))))
    return { kind: 'process', command: 'npx', args: [serverName, 'mcp'] }
  if (own.script.includes('_npx')) return { kind: 'process', command: 'npx', args: ['-y', serverName, 'mcp'] }
  return { kind: 'process', command: own.node, args: [own.script, 'mcp'] }
}
