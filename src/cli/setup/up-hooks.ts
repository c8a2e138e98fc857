/**
 * What `tieline up` writes so that programs which a person has open are told of their mail: hooks in their own
 * settings, as data. `tieline down` removes each item that is still as it was written.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { claudeHooks, claudeScriptFile, renderClaudeScript } from '../../adapters/claude-code/hooks.ts'
import { describeError } from '../../client/tieline-error.ts'
import type { PresetName } from '../../model/agent.ts'
import type { Surroundings } from './init-entries.ts'
import type { Planned } from './init-plan.ts'
import { addItem, readAt, type Part } from './jsonc-edit.ts'
import { parseJsonc, type Value } from './jsonc.ts'

/** Where a hook finds us. `server` is null where its address is another at each start. */
export type HookPlace = { server: string | null; dataDir: string }

export type ClientHooks = {
  client: PresetName
  title: string
  /** Settings as JSON, with comments or without. */
  file(at: Surroundings): string
  /** Each is one item of the list at its path. Null where this place cannot be named in it. */
  items(place: HookPlace): readonly { path: readonly string[]; value: Value }[] | null
  /** Programs that the hooks run, whole files of ours. */
  scripts?(place: HookPlace): readonly { file: string; text: string }[]
  /** In an item of ours, whatever server it names. */
  mark: string
}

const claude: ClientHooks = {
  client: 'claude',
  title: 'Claude Code hooks',
  file: ({ env, home }) => {
    const moved = env['CLAUDE_CONFIG_DIR'] ?? ''
    return join(moved === '' ? join(home, '.claude') : moved, 'settings.json')
  },
  items: ({ dataDir }) =>
    Object.entries(claudeHooks(dataDir)).flatMap(([event, groups]) =>
      groups.map((value) => ({ path: ['hooks', event], value: value as unknown as Value })),
    ),
  scripts: ({ dataDir }) => [{ file: claudeScriptFile(dataDir), text: renderClaudeScript(dataDir) }],
  mark: '/hooks/claude-code',
}

export const clientHooks: readonly ClientHooks[] = [claude]

/** How each is reached while a person has it open. What has no hooks here is told when it uses our tools. */
export const wakes: Readonly<Record<PresetName, string>> = {
  claude: 'can be woken',
  codex: 'can be woken, in a terminal',
  opencode: 'can be woken',
  copilot: 'cannot be woken: it hears of mail with its next tool result',
  gemini: 'cannot be woken: it hears of mail with its next tool result',
}

export const planHooks = (hooks: ClientHooks, at: Surroundings, place: HookPlace): Planned[] => [
  ...(hooks.scripts?.(place) ?? []).map(({ file, text }) => planScript(hooks, file, text)),
  planItems(hooks, at, place),
]

function planScript({ title: what, client: of }: ClientHooks, file: string, text: string): Planned {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : null
  const plain = { what, of, file, before, after: text, snippet: text, parts: [], note: null, mode: 0o700 }
  if (before === text) return { ...plain, state: 'there', why: 'is there already' }
  return { ...plain, state: 'write', why: before === null ? 'new file' : 'is written anew' }
}

function planItems(hooks: ClientHooks, at: Surroundings, place: HookPlace): Planned {
  const file = hooks.file(at)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : null
  const { title: what, client: of } = hooks
  const plain = { what, of, file, before, after: before ?? '', snippet: '', note: null, parts: [] }
  const items = hooks.items(place)
  if (items === null)
    return { ...plain, state: 'unclear', why: 'needs a server with a fixed port: set server.port' }
  try {
    const parsed = before === null || before.trim() === '' ? {} : parseJsonc(before)
    const listAt = (path: readonly string[]): unknown[] => {
      const found = readAt(parsed, path)
      return Array.isArray(found) ? found : []
    }
    const missing = items.filter(
      ({ path, value }) => !listAt(path).some((item) => isDeepStrictEqual(item, value)),
    )
    const isOther = missing.some(({ path }) =>
      listAt(path).some((item) => JSON.stringify(item).includes(hooks.mark)),
    )
    if (isOther)
      return {
        ...plain,
        state: 'other',
        why: 'has hooks of ours for another server; "tieline down" removes what "tieline up" wrote',
      }
    if (missing.length === 0) return { ...plain, state: 'there', why: 'has these hooks already' }
    const parts = missing.map((item): Part => ({ ...item, isItem: true }))
    const after = missing.reduce((text, { path, value }) => addItem(text, path, value), before ?? '')
    return { ...plain, after, parts, state: 'write', why: before === null ? 'new file' : 'hooks are added' }
  } catch (error) {
    const why = `is left alone: ${describeError(error).split('\n')[0] ?? ''}`
    return { ...plain, state: 'unclear', why }
  }
}
