/**
 * `tieline init`: tells the MCP clients of this project or machine about Tieline. It shows what it would
 * write, asks, and changes nothing else.
 */
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { flagText, printJson, UsageError, type Command, type CommandInput } from '../command.ts'
import {
  isInUse,
  mcpClients,
  ownProcess,
  type McpClient,
  type Surroundings,
  type Way,
} from '../setup/init-entries.ts'
import { changedLines, planFor, writeWhole, type Planned } from '../setup/init-plan.ts'
import { starterConfig } from '../setup/init-starter.ts'
import { askLine } from '../chat/prompt.ts'
import { isYes } from '../chat/question.ts'

const clientNames = mcpClients.map((client) => client.id).join(', ')

export const init: Command = {
  name: 'init',
  words: [],
  help: 'Adds Tieline to the MCP clients that are used here, after showing what it would write',
  flags: {
    client: {
      value: 'NAME',
      help: `${clientNames}, several with commas, or all; otherwise those that are found in this project or on this machine`,
    },
    user: { help: "write the user's own files instead of those of this project" },
    starter: { help: 'also write a tieline.toml to start from, if there is none' },
    yes: { help: 'do not ask' },
  },
  more: [
    'Clients start "tieline mcp", which finds the running server or starts one. With --server URL they connect to that server instead, with the token in TIELINE_TOKEN.',
    'Other entries of a file are kept as they are. A file that is not understood is left alone, and the entry is printed to be pasted.',
    '',
    'Examples:',
    '  tieline init',
    '  tieline init --client claude,codex --user',
    '  tieline init --client opencode --starter --yes',
  ],
  run: (input) =>
    initIn(
      input,
      { cwd: process.cwd(), home: homedir(), env: input.env },
      { node: process.execPath, script: scriptOf(process.argv[1] ?? '') },
    ),
}

const scriptOf = (path: string): string => (existsSync(path) ? realpathSync(path) : path)

export async function initIn(
  input: CommandInput,
  at: Surroundings,
  own: { node: string; script: string },
): Promise<number> {
  const clients = chosen(input, at)
  const planned = [
    ...(input.flags['starter'] === true ? [starterPlan(at)] : []),
    ...(await planFor(clients, at, input.flags['user'] === true ? 'user' : 'project', wayOf(input, at, own))),
  ]
  if (planned.length === 0)
    throw new UsageError(
      `no MCP client was found in this project or on this machine. Name one with --client: ${clientNames}.`,
    )
  const silent = input.flags['json'] === true
  if (!silent) for (const plan of planned) input.out.write(`${shown(plan, at)}\n`)
  const toWrite = planned.filter(({ state }) => state === 'write')
  const may = toWrite.length > 0 && (input.flags['yes'] === true || (await asked(input, toWrite.length)))
  if (may) for (const plan of toWrite) await writeWhole(plan.file, plan.after)
  if (silent)
    printJson(input.out, {
      files: planned.map(({ what, file, state, why, snippet, note }) => ({
        client: what,
        file,
        state,
        why,
        snippet,
        note,
        written: may && state === 'write',
      })),
    })
  else if (toWrite.length > 0)
    input.out.write(
      may
        ? `Written. Restart the client to see the tools.\n`
        : 'Nothing was written. --yes writes without asking.\n',
    )
  return (may || toWrite.length === 0) && planned.every(({ state }) => state === 'write' || state === 'there')
    ? 0
    : 1
}

function chosen(input: CommandInput, at: Surroundings): McpClient[] {
  const named = flagText(input.flags['client'])
  if (named === undefined) return mcpClients.filter((client) => isInUse(client, at) !== null)
  if (named === 'all') return [...mcpClients]
  return named.split(',').map((id) => {
    const found = mcpClients.find((client) => client.id === id.trim())
    if (found === undefined)
      throw new UsageError(`--client: "${id}" was given, but one of ${clientNames} or all is needed.`)
    return found
  })
}

function wayOf(input: CommandInput, at: Surroundings, own: { node: string; script: string }): Way {
  const server = flagText(input.flags['server'])
  if (server !== undefined) {
    if (!URL.canParse(server) || !/^https?:/.test(server))
      throw new UsageError(
        `--server: "${server}" was given, but a URL such as http://127.0.0.1:8283 is needed.`,
      )
    const url = new URL('/mcp', server)
    return {
      kind: 'url',
      url: url.href,
      withToken:
        (at.env['TIELINE_TOKEN'] ?? '') !== '' || !/^(localhost|127\..*|\[::1\])$/.test(url.hostname),
    }
  }
  const way = ownProcess(at, own)
  const passed = ['config', 'data-dir'].flatMap((name) => {
    const value = flagText(input.flags[name])
    return value === undefined ? [] : [`--${name}`, resolve(at.cwd, value)]
  })
  return { ...way, args: [...way.args, ...passed] }
}

function starterPlan(at: Surroundings): Planned {
  const file = join(at.cwd, 'tieline.toml')
  const there = ['tieline.toml', 'tieline.json'].find((name) => existsSync(join(at.cwd, name)))
  return {
    what: 'Configuration',
    file: there === undefined ? file : join(at.cwd, there),
    state: there === undefined ? 'write' : 'there',
    before: null,
    after: starterConfig,
    snippet: starterConfig,
    why: there === undefined ? 'new file' : 'is there already',
    note: null,
  }
}

async function asked({ in: from, out, signal }: CommandInput, files: number): Promise<boolean> {
  if (from?.isTTY !== true || out.isTTY !== true) return false
  const line = await askLine(
    from,
    out,
    `Write ${files === 1 ? 'this file' : `these ${files} files`}? [y/N] `,
    signal,
  )
  return line !== null && line !== 'interrupted' && isYes(line.text)
}

function shown({ what, file, state, why, before, after, snippet, note }: Planned, at: Surroundings): string {
  const near = relative(at.cwd, file)
  const head = `${what}: ${near.startsWith('..') ? file : near} (${why})`
  const lines =
    state === 'write'
      ? changedLines(before, after)
      : state === 'there'
        ? []
        : ['Paste this yourself:', ...snippet.trimEnd().split('\n')]
  return [
    head,
    ...lines.map((line) => `  ${line}`),
    ...(note === null || state === 'there' ? [] : [`  ${note}`]),
    '',
  ].join('\n')
}
