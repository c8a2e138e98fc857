/**
 * `tieline init`: adds Tieline to the MCP clients of this project or machine. It shows what it would write,
 * asks, and changes nothing else.
 */
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { flagText, printJson, UsageError, type Command, type CommandInput } from '../command.ts'
import { readUrl, refuseValue } from '../flags.ts'
import { chooseProcess, isInUse, mcpClients } from '../setup/init-entries.ts'
import type { McpClient, OwnFiles, Surroundings, Way } from '../setup/init-entries.ts'
import { planEntries, renderChanges, writeWhole, type Planned } from '../setup/init-plan.ts'
import { opencodePlugin } from '../setup/opencode-plugin.ts'
import { starterConfig } from '../setup/init-starter.ts'
import { hashBytes } from '../../trust/config-text.ts'
import { askLine } from '../chat/prompt.ts'
import { isYes } from '../chat/question.ts'
import { agree } from '../reach/ask-trust.ts'

const known: readonly McpClient[] = [...mcpClients, opencodePlugin]
const clientNames = known.map((client) => client.id).join(', ')

export const init: Command = {
  name: 'init',
  words: [],
  help: 'Adds Tieline to the MCP clients that are used here, after showing what it would write',
  flags: {
    client: {
      value: 'NAME',
      help: `${clientNames}, several with commas, or all; by default those found here`,
    },
    user: { help: "write the user's own files instead of those of this project" },
    starter: { help: 'also write a tieline.toml to start from, if there is none' },
    yes: { help: 'do not ask' },
  },
  more: `
Clients start "tieline mcp", which finds the running server or starts one. With --server URL they connect to
that server instead, with the token in TIELINE_TOKEN.
opencode-plugin is OpenCode's plugin instead of an MCP entry: it also makes OpenCode's sessions reachable.
Other entries of a file are kept. A file that is not understood is left alone, and the entry is printed for
you to paste.`,
  examples: [
    'tieline init',
    'tieline init --client claude,codex --user',
    'tieline init --client opencode --starter --yes',
  ],
  run(input) {
    const script = process.argv[1] ?? ''
    const own = { node: process.execPath, script: existsSync(script) ? realpathSync(script) : script }
    return initIn(input, { cwd: process.cwd(), home: homedir(), env: input.env }, own)
  },
}

export async function initIn(input: CommandInput, at: Surroundings, own: OwnFiles): Promise<number> {
  const { flags, out } = input
  const scope = flags['user'] === true ? 'user' : 'project'
  const planned = [
    ...(flags['starter'] === true ? [planStarter(at)] : []),
    ...(await planEntries(chooseClients(input, at), at, scope, chooseWay(input, at, own))),
  ]
  if (planned.length === 0)
    throw new UsageError(
      'no MCP client was found in this project or on this machine. ' +
        `Name one with --client: ${clientNames}.`,
    )
  const isJson = flags['json'] === true
  if (!isJson) for (const plan of planned) out.write(`${renderPlan(plan, at)}\n`)
  const toWrite = planned.filter(({ state }) => state === 'write')
  const may = toWrite.length > 0 && (flags['yes'] === true || (await askUser(input, toWrite.length)))
  if (may) for (const plan of toWrite) await writeWhole(plan.file, plan.after)
  const starter = toWrite.find(({ after }) => after === starterConfig)
  if (may && starter !== undefined) await trustStarter(at, starter)
  if (isJson)
    printJson(out, {
      files: planned.map(({ what: client, file, state, why, snippet, note }) => {
        const written = may && state === 'write'
        return { client, file, state, why, snippet, note, written }
      }),
    })
  else if (toWrite.length > 0)
    out.write(
      may
        ? 'Written. Restart the client to see the tools.\n'
        : 'Nothing was written. --yes writes without asking.\n',
    )
  const isClear = planned.every(({ state }) => state === 'write' || state === 'there')
  return (may || toWrite.length === 0) && isClear ? 0 : 1
}

function chooseClients({ flags }: CommandInput, at: Surroundings): readonly McpClient[] {
  const named = flagText(flags['client'])
  if (named === undefined) return mcpClients.filter((client) => isInUse(client, at))
  if (named === 'all') return mcpClients
  return named.split(',').map((id) => {
    const found = known.find((client) => client.id === id.trim())
    if (found === undefined) throw refuseValue('client', id, `one of ${clientNames} or all`)
    return found
  })
}

function chooseWay({ flags }: CommandInput, at: Surroundings, own: OwnFiles): Way {
  const server = flagText(flags['server'])
  if (server !== undefined) {
    const { href: url, hostname } = new URL('/mcp', readUrl(server))
    const hasToken = (at.env['TIELINE_TOKEN'] ?? '') !== ''
    return { kind: 'url', url, withToken: hasToken || !/^(localhost|127\..*|\[::1\])$/.test(hostname) }
  }
  const way = chooseProcess(at, own)
  const passed = ['config', 'data-dir'].flatMap((name) => {
    const value = flagText(flags[name])
    return value === undefined ? [] : [`--${name}`, resolve(at.cwd, value)]
  })
  return { ...way, args: [...way.args, ...passed] }
}

function planStarter({ cwd }: Surroundings): Planned {
  const existing = ['tieline.toml', 'tieline.json'].find((name) => existsSync(join(cwd, name)))
  return {
    what: 'Configuration',
    of: null,
    file: join(cwd, existing ?? 'tieline.toml'),
    state: existing === undefined ? 'write' : 'there',
    before: null,
    after: starterConfig,
    parts: [],
    snippet: starterConfig,
    why: existing === undefined ? 'new file' : 'is there already',
    note: null,
  }
}

/** The user has just seen all of it, and agreed. */
async function trustStarter({ cwd, env, home }: Surroundings, { after }: Planned): Promise<void> {
  const { loadConfig } = await import('../../config.ts')
  const { TIELINE_CONFIG: _named, ...others } = env
  const { untrusted } = await loadConfig({ cwd, env: others, home })
  // Whatever somebody else has put there meanwhile is not what was agreed to.
  if (untrusted?.reach != null && untrusted.files.every(({ hash }) => hash === hashBytes(after)))
    agree({ env, home }, untrusted, untrusted.reach)
}

async function askUser({ in: from, out, signal }: CommandInput, files: number): Promise<boolean> {
  if (from?.isTTY !== true || out.isTTY !== true) return false
  const which = files === 1 ? 'this file' : `these ${files} files`
  const line = await askLine(from, out, `Write ${which}? [y/N] `, signal)
  return line !== null && line !== 'interrupted' && isYes(line.text)
}

function renderPlan(plan: Planned, at: Surroundings): string {
  const { what, file, state, why, before, after, snippet, note } = plan
  const near = relative(at.cwd, file)
  const head = `${what}: ${near.startsWith('..') ? file : near} (${why})`
  if (state === 'there' || state === 'doubled') return `${head}\n`
  const lines =
    state === 'write'
      ? renderChanges(before, after)
      : ['Paste this yourself:', ...snippet.trimEnd().split('\n')]
  const indented = [...lines, ...(note === null ? [] : [note])].map((line) => `  ${line}`)
  return [head, ...indented, ''].join('\n')
}
