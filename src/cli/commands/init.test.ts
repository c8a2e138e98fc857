import { chmod, lstat, readdir, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { here, own, put, read, readJson, run, stdio } from '../../../test/kits/init.ts'
import { loadConfig } from '../../config.ts'
import type { CommandInput } from '../command.ts'
import { init } from './init.ts'

test('other entries, comments and other settings stay', async () => {
  const before = `{
// my theme
"theme": "dark",
"mcp": {
  "other": { "type": "remote", "url": "https://x" } // keep
}
}
`
  await put('project/opencode.jsonc', before)
  expect(await run({ client: 'opencode', yes: true })).toBe(0)
  const after = await read('project/opencode.jsonc')
  for (const line of before.split('\n').filter((part) => !part.includes('other')))
    expect(after).toContain(line)
  expect(after).toContain('"other": { "type": "remote", "url": "https://x" }, // keep')
})

test('other entries stay in TOML too', async () => {
  const before = '# mine\nmodel = "o9"\n\n[mcp_servers.other]\ncommand = "a"   # keep\n'
  await put('project/.codex/config.toml', before)
  expect(await run({ client: 'codex', yes: true })).toBe(0)
  const after = await read('project/.codex/config.toml')
  expect(after.startsWith(before)).toBe(true)
  expect(parseToml(after)).toMatchObject({
    model: 'o9',
    mcp_servers: { other: { command: 'a' }, tieline: stdio },
  })
})

test.each([
  ['claude', 'project/.mcp.json', '{ "mcpServers": { '],
  ['gemini', 'project/.gemini/settings.json', '[1, 2]'],
  ['claude', 'project/.mcp.json', '{ "mcpServers": [] }'],
  ['codex', 'project/.codex/config.toml', 'model = '],
  ['codex', 'project/.codex/config.toml', 'mcp_servers = { other = { command = "a" } }\n'],
])(
  'a file of %s that is not understood is left alone, with the entry to paste: %s %s',
  async (client, file, before) => {
    await put(file, before)
    expect(await run({ client, yes: true })).toBe(1)
    expect(await read(file)).toBe(before)
    expect(here.printed).toContain('is left alone')
    expect(here.printed).toMatch(/Paste this yourself:[\s\S]*tieline[\s\S]*mcp/)
  },
)

test('an entry of the same name stays, whatever it says', async () => {
  const before = '{ "mcpServers": { "tieline": { "command": "my-own" } } }'
  await put('project/.mcp.json', before)
  expect(await run({ client: 'claude', yes: true })).toBe(1)
  expect(await read('project/.mcp.json')).toBe(before)
  expect(here.printed).toContain('has another entry mcpServers.tieline')
})

test('two clients that read one file share one entry', async () => {
  await run({ client: 'claude,copilot', yes: true })
  expect(here.printed).toContain('Claude Code: .mcp.json (new file)')
  expect(here.printed).toContain('GitHub Copilot CLI: .mcp.json (has this entry already)')
})

test('a second time nothing is written', async () => {
  await run({ client: 'all', yes: true })
  const before = await read('project/.codex/config.toml')
  here.printed = ''
  expect(await run({ client: 'all', yes: true })).toBe(0)
  expect(await read('project/.codex/config.toml')).toBe(before)
  expect(here.printed.match(/has this entry already/g)).toHaveLength(5)
})

test('links are followed, and modes are kept', async () => {
  const real = await put('dotfiles/claude.json', '{}')
  await chmod(real, 0o660)
  await symlink(real, join(here.at.home, '.claude.json'))
  expect(await run({ client: 'claude', user: true, yes: true })).toBe(0)
  expect((await lstat(join(here.at.home, '.claude.json'))).isSymbolicLink()).toBe(true)
  expect((await stat(real)).mode & 0o777).toBe(0o660)
  expect(await readJson('dotfiles/claude.json')).toMatchObject({ mcpServers: { tieline: {} } })
  expect(await readdir(join(here.root, 'dotfiles'))).toEqual(['claude.json'])
})

describe('the user decides', () => {
  const typed = (line: string): Partial<CommandInput> => {
    const from = Object.assign(new PassThrough(), { isTTY: true })
    from.write(`${line}\n`)
    return {
      in: from,
      out: Object.assign(new PassThrough(), {
        isTTY: true,
        columns: 80,
        rows: 24,
      }) as unknown as CommandInput['out'],
    }
  }

  test.each([
    ['y', 0, true],
    ['', 1, false],
    ['no', 1, false],
  ])('"%s" at the question gives %d', async (line, code, written) => {
    expect(await run({ client: 'claude' }, typed(line))).toBe(code)
    expect((await readdir(here.at.cwd)).includes('.mcp.json')).toBe(written)
  })

  test('where nobody can be asked nothing is written without --yes', async () => {
    expect(await run({ client: 'claude' })).toBe(1)
    expect(await readdir(here.at.cwd)).toEqual([])
    expect(here.printed).toContain('+ {')
    expect(here.printed).toContain('Nothing was written. --yes writes without asking.')
  })

  test('what is shown is what changes', async () => {
    await put('project/.mcp.json', '{\n  "mcpServers": {\n    "other": { "command": "a" }\n  }\n}\n')
    await run({ client: 'claude' })
    expect(here.printed).toContain(
      '  -     "other": { "command": "a" }\n  +     "other": { "command": "a" },\n  +     "tieline": {\n',
    )
  })

  test('as JSON', async () => {
    expect(await run({ client: 'claude,codex', yes: true, json: true })).toBe(0)
    expect(JSON.parse(here.printed)).toMatchObject({
      files: [
        { client: 'Claude Code', state: 'write', written: true },
        { client: 'Codex', written: true },
      ],
    })
  })
})

test('an entry of a project that only works on this machine says so; one of the user need not', async () => {
  await run({ client: 'gemini', yes: true })
  expect(here.printed).toContain('names files of this machine')
  here.printed = ''
  await run({ client: 'gemini', user: true, yes: true })
  await run({ client: 'claude', yes: true, server: 'http://127.0.0.1:8283' })
  expect(here.printed).not.toContain('names files of this machine')
})

test('a configuration and a data directory that were named go along, as whole paths', async () => {
  await run({ client: 'gemini', yes: true, config: 'my.toml', 'data-dir': '/data' })
  expect(await readJson('project/.gemini/settings.json')).toMatchObject({
    mcpServers: {
      tieline: { args: [own.script, 'mcp', '--config', join(here.at.cwd, 'my.toml'), '--data-dir', '/data'] },
    },
  })
})

test('the starter is a configuration that works, and is never written over another', async () => {
  await run({ client: 'claude', starter: true, yes: true })
  const { config, warnings } = await loadConfig({ cwd: here.at.cwd, env: {}, home: here.at.home })
  expect(config.agents.map((agent) => agent.name)).toEqual(['planner', 'reader'])
  expect(warnings).toEqual([])
  await put('project/tieline.toml', '# mine\n')
  await run({ client: 'claude', starter: true, yes: true })
  expect(await read('project/tieline.toml')).toBe('# mine\n')
})

test('the flags of the command are those that it reads', () =>
  expect(Object.keys(init.flags)).toEqual(['client', 'user', 'starter', 'yes']))

describe('init does not know the OpenCode plugin', () => {
  const ours = '{ "plugin": ["other", ["./node_modules/tieline/dist/adapters/opencode/plugin.js", {}]] }'

  test('where the plugin is, no MCP entry is written beside it, also where the plugin is the user’s', async () => {
    await put('project/opencode.json', '{}')
    await put('home/.config/opencode/opencode.json', ours)
    expect(await run({ client: 'opencode', yes: true })).toBe(0)
    expect(await read('project/opencode.json')).toBe('{}')
    expect(here.printed).toContain('it has our plugin, which brings the same tools')
  })

  test('both beside each other are said to be double', async () => {
    await put('project/opencode.json', '{ "plugin": ["tieline"], "mcp": { "tieline": { "type": "local" } } }')
    expect(await run({ client: 'opencode', yes: true })).toBe(1)
    expect(here.printed).toContain('every tool is there twice, with two addresses and two inboxes')
    expect(await run({ client: 'opencode-plugin', yes: true })).toBe(1)
  })

  test('it is written by its name, with a file that exists', async () => {
    expect(await run({ client: 'opencode-plugin', yes: true })).toBe(0)
    const { plugin } = (await readJson('project/opencode.json')) as { plugin: string[] }
    expect(plugin).toHaveLength(1)
    expect((await stat(plugin[0] ?? '')).isFile()).toBe(true)
    expect(await run({ client: 'opencode-plugin', yes: true })).toBe(0)
    expect(await run({ client: 'opencode', yes: true })).toBe(0)
    expect(Object.keys((await readJson('project/opencode.json')) as object)).toEqual(['plugin'])
  })

  test('an MCP entry is not doubled by the plugin', async () => {
    expect(await run({ client: 'opencode', yes: true })).toBe(0)
    expect(await run({ client: 'opencode-plugin', yes: true })).toBe(1)
    expect(here.printed).toContain('remove mcp.tieline from')
  })
})
