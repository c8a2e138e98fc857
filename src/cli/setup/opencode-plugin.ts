/**
 * OpenCode knows us by our plugin or over MCP. Beside each other they are two clients: every tool is there twice,
 * with two addresses and two inboxes.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ownFile } from '../../own-files.ts'
import type { McpClient, Scope, Surroundings } from './init-entries.ts'
import { parseJsonc } from './jsonc.ts'

/** Files in which each is named. */
export type OpenCodeEntries = { plugin: string[]; mcp: string[] }

const names = ['opencode.json', 'opencode.jsonc']

export const opencodeFolder = ({ home, env }: Surroundings): string =>
  join(
    (env['XDG_CONFIG_HOME'] ?? '') === '' ? join(home, '.config') : (env['XDG_CONFIG_HOME'] ?? ''),
    'opencode',
  )

/** A file that cannot be read names neither. */
export async function findOpenCodeEntries(at: Surroundings): Promise<OpenCodeEntries> {
  const folders = [at.cwd, join(at.cwd, '.opencode'), opencodeFolder(at)]
  const found: OpenCodeEntries = { plugin: [], mcp: [] }
  for (const file of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    const text = await readFile(file, 'utf8').catch(() => null)
    const settings = text === null ? null : parseLoosely(text)
    if (settings === null) continue
    if (listPlugins(settings['plugin']).some(isOurs)) found.plugin.push(file)
    const mcp = isObject(settings['mcp']) ? settings['mcp'] : {}
    const servers = isObject(mcp['servers']) ? mcp['servers'] : {}
    if (mcp['tieline'] !== undefined || servers['tieline'] !== undefined) found.mcp.push(file)
  }
  return found
}

/** An entry is a name or a path, or one of these with options. */
const listPlugins = (given: unknown): string[] =>
  Array.isArray(given)
    ? given
        .map((one: unknown): unknown => (Array.isArray(one) ? one[0] : one))
        .filter((one) => typeof one === 'string')
    : []

const isOurs = (plugin: string): boolean =>
  /^tieline(@|$)/.test(plugin) || /adapters[\\/]opencode[\\/](plugin|index)\.[jt]s$/.test(plugin)

const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

function parseLoosely(text: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = parseJsonc(text)
    return isObject(parsed) ? parsed : null
  } catch {
    // Somebody else's file; `init` says what is wrong with it where it would write to it.
    return null
  }
}

export const describeDoubled = ({ plugin, mcp }: OpenCodeEntries): string =>
  `it has our plugin (${plugin.join(', ')}) and our MCP entry (${mcp.join(', ')}): every tool is there twice, ` +
  'with two addresses and two inboxes'

const inProject = './node_modules/tieline/dist/adapters/opencode/plugin.js'

/** Only by its name: over MCP is what works everywhere, so that is what `init` offers by itself. */
export const opencodePlugin: McpClient = {
  id: 'opencode-plugin',
  title: 'OpenCode plugin',
  program: '',
  traces: { project: [], home: () => '' },
  target: (at, scope) => {
    const folder = scope === 'project' ? at.cwd : opencodeFolder(at)
    return {
      file: join(folder, names.find((name) => existsSync(join(folder, name))) ?? 'opencode.json'),
      format: 'json',
      path: ['plugin'],
      entry: choosePath(at, scope),
      isItem: true,
    }
  },
  note: () =>
    'It brings the same tools as the MCP entry, and makes the sessions of OpenCode reachable. Use one of both.',
}

/** The file of the package that the project has, or of the one that runs now. */
const choosePath = (at: Surroundings, scope: Scope): string =>
  scope === 'project' && existsSync(join(at.cwd, inProject)) ? inProject : ownFile('adapters/opencode/plugin')
