/**
 * Agents that other programs' files describe (`[import] agents`): `.claude/agents/*.md` and
 * `.opencode/agent/*.md`. Each becomes an agent that the program itself runs. The files count as part of the
 * configuration that imports them: their bytes are hashed with it.
 */
import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { absolute, parseFile } from './config-path.ts'
import { isTable } from './config-problem.ts'
import { AgentName, drivenDriver, type PresetName } from './model/agent.ts'
import { readConfigText, type ConfigText } from './trust/config-text.ts'

const filesMax = 200

/** The directories that a configuration imports agents from; none where it has a mistake. */
export function listImported(file: ConfigText, home: string): string[] {
  let table: unknown
  try {
    table = parseFile(file)
  } catch {
    // The mistake is reported where the whole file is checked.
    return []
  }
  const section = isTable(table) && isTable(table['import']) ? table['import']['agents'] : []
  const directories = Array.isArray(section) ? section.filter((one) => typeof one === 'string') : []
  return directories.map((one) => absolute(one, dirname(file.path), home))
}

/** The files of those directories, each read once. A directory that is not there has none. */
export const readImports = (file: ConfigText, home: string): ConfigText[] =>
  listImported(file, home)
    .flatMap(listFiles)
    .slice(0, filesMax)
    .flatMap((path) => readConfigText(path) ?? [])

function listFiles(directory: string): string[] {
  try {
    const names = readdirSync(directory).filter((name) => name.endsWith('.md'))
    return names.sort().map((name) => join(directory, name))
  } catch {
    return []
  }
}

/** The table with an agent for each file, unless it has one of that name itself. */
export function withImports(table: unknown, files: readonly ConfigText[]): unknown {
  if (!isTable(table) || files.length === 0) return table
  const written = table['agents'] ?? {}
  if (!isTable(written)) return table
  const imported = files.map(parseAgentFile).filter((one) => one !== null)
  return { ...table, agents: { ...Object.fromEntries(imported), ...written } }
}

/** Tools of Claude Code and OpenCode that change nothing. */
const reading = new Set(
  'read grep glob ls list webfetch websearch notebookread todowrite todoread'.split(' '),
)

/** Null for a file that describes no agent. */
export function parseAgentFile({ path, text }: ConfigText): [string, object] | null {
  const match = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(text)
  const [head, prompt] = match === null ? [{}, text] : [parseHead(match[1] ?? ''), match[2] ?? '']
  const preset: PresetName = path.split('/').some((part) => /^\.?opencode$/.test(part))
    ? 'opencode'
    : 'claude'
  const given = preset === 'claude' ? head['name'] : undefined
  const name = AgentName.safeParse(typeof given === 'string' ? given : basename(path, '.md'))
  if (!name.success || head['disable'] === 'true' || prompt.trim() === '') return null
  const description = head['description']
  return [
    name.data,
    {
      driver: drivenDriver,
      preset,
      description: typeof description === 'string' ? description : '',
      prompt: prompt.trim(),
      permissions: onlyReads(head) ? 'readonly' : 'ask',
    },
  ]
}

type Head = Record<string, string | Record<string, string>>

/** What it may not do stays forbidden: an agent that only reads in its own program only reads here. */
function onlyReads({ tools, permission }: Head): boolean {
  if (typeof tools === 'string' && tools.trim() !== '')
    return tools.split(',').every((tool) => reading.has(tool.trim().toLowerCase()))
  const denied = (name: string): boolean =>
    (typeof tools === 'object' && tools[name] === 'false') ||
    (typeof permission === 'object' && permission[name] === 'deny')
  return ['edit', 'bash'].every(denied) || ['write', 'edit', 'bash'].every(denied)
}

/** The part of YAML that such files use: keys, texts, and one level below a key. */
function parseHead(text: string): Head {
  const head: Head = {}
  let key = ''
  for (const line of text.split(/\r?\n/)) {
    const [, indent = '', name, value = ''] = /^(\s*)([A-Za-z_*-]+):[ \t]*(.*)$/.exec(line) ?? []
    const item = /^\s*-\s+(.+)$/.exec(line)?.[1]
    if (name !== undefined && indent === '') {
      key = name
      head[key] = unquote(value)
    } else if (key !== '' && item !== undefined) head[key] = joinText(head[key], unquote(item), ', ')
    else if (key !== '' && name !== undefined && typeof head[key] !== 'string')
      (head[key] as Record<string, string>)[name] = unquote(value)
    else if (key !== '' && name !== undefined && head[key] === '') head[key] = { [name]: unquote(value) }
    else if (key !== '' && line.trim() !== '') head[key] = joinText(head[key], line.trim(), ' ')
  }
  return head
}

const joinText = (before: Head[string] | undefined, text: string, between: string): string =>
  typeof before === 'string' && !['', '|', '>', '|-', '>-'].includes(before) ? before + between + text : text

const unquote = (value: string): string => {
  const text = value.trim()
  return /^(["']).*\1$/.test(text) && text.length > 1 ? text.slice(1, -1) : text
}
