/** `tieline up` and `tieline down` in a clean home, with programs of those names on the PATH. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { garbage, patience, start, type Ended } from '../kits/cli.ts'
import { fakeAgent } from '../kits/driven.ts'
import type { FakeAcp } from '../kits/fake-acp.ts'

vi.setConfig(patience)

type Home = { home: string; bin: string; run: (...args: string[]) => Promise<Ended> }

/** npm puts the fake agent where an adapter would be; the programs say a version, and speak ACP themselves. */
function cleanHome(settings: Partial<FakeAcp> = {}): Home {
  const home = mkdtempSync(join(tmpdir(), 'tieline-up-'))
  garbage.push(home)
  const bin = join(home, 'bin')
  const state = mkdtempSync(join(tmpdir(), 'tieline-up-agent-'))
  garbage.push(state)
  const speak = `FAKE_ACP='${JSON.stringify({ home: state, ...settings })}' exec '${process.execPath}' '${fakeAgent}'`
  const program = `#!/bin/sh\n[ "$1" = --version ] && echo 9.8.7 && exit 0\n${speak}\n`
  for (const name of ['claude', 'codex', 'opencode']) script(join(bin, name), program)
  script(join(bin, 'adapter'), `#!/bin/sh\n${speak}\n`)
  script(
    join(bin, 'npm'),
    `#!/bin/sh
[ "$1" = install ] || exit 1
mkdir -p "$3/node_modules/.bin"
for package in "$@"; do
  case "$package" in @*) cp '${bin}/adapter' "$3/node_modules/.bin/$(basename "$package" | sed 's/@.*//')" ;; esac
done
echo '{"dependencies":{}}' > "$3/package.json"
echo "$@" >> '${bin}/npm.log'
`,
  )
  const env = {
    PATH: `${bin}:/usr/bin:/bin`,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    HOME: home,
  }
  return {
    home,
    bin,
    run(...args) {
      const started = start(home, args, env)
      started.child.stdin.end()
      return started.ended
    },
  }
}

function script(file: string, text: string): void {
  put(file, text)
  chmodSync(file, 0o755)
}

const put = (file: string, text: string): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** Every file below, but for the programs. */
const snapshot = (home: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && one.parentPath !== join(home, 'bin'))
      .map((one) => join(one.parentPath, one.name))
      .map((file) => [file, readFileSync(file, 'utf8')]),
  )

const settings =
  '{\n  // mine\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}\n}\n'

test('up twice changes nothing the second time, and down leaves every file as it was', async () => {
  const { home, bin, run } = cleanHome()
  put(join(home, '.claude.json'), '{"numStartups": 3,\n "mcpServers": {"other": {"command": "x"}}}\n')
  put(join(home, '.claude/settings.json'), settings)
  put(join(home, '.codex/config.toml'), '# mine\nmodel = "gpt"')
  put(join(home, '.config/opencode/opencode.json'), '{"plugin": ["mine"]}')
  const before = snapshot(home)
  const dry = await run('up', '--dry-run')
  expect(dry.out).toContain('[agents.codex]')
  expect(dry.out).toMatch(/Adapters: npm install --prefix .*@agentclientprotocol\/codex-acp@/)
  expect(snapshot(home)).toEqual(before)
  const first = await run('up', '--yes')
  expect(first).toMatchObject({ code: 0 })
  expect(first.out).toContain('opencode 9.8.7 · can call · can be called · can be woken')
  expect(first.out).toContain('claude 9.8.7 · can call · can be called · can be woken')
  expect(first.out).toContain('codex 9.8.7 · can call · can be called · can be woken, in a terminal')
  const written = snapshot(home)
  expect(written[join(home, '.claude.json')]).toContain('"tieline"')
  expect(written[join(home, '.claude/settings.json')]).toContain('hooks/claude-code')
  expect(written[join(home, '.config/opencode/opencode.json')]).toMatch(/"mine",\s+".*adapters\/opencode/)
  expect(written[join(home, '.config/tieline/tieline.toml')]).toContain('preset = "opencode"')
  const second = await run('up', '--yes')
  expect(second.code).toBe(0)
  expect(second.out).toContain('Nothing to change.')
  expect(second.out).toContain('codex 9.8.7 · can call · can be called')
  expect(snapshot(home)).toEqual(written)
  expect(readFileSync(join(bin, 'npm.log'), 'utf8').trim().split('\n')).toHaveLength(1)
  expect((await run('down')).code).toBe(0)
  expect(snapshot(home)).toEqual(before)
  expect([join(home, '.config/tieline'), join(home, '.local')].filter(existsSync)).toEqual([])
})

test('down keeps what the user has changed in between, and up --only touches only those', async () => {
  const { home, run } = cleanHome()
  const file = join(home, '.codex/config.toml')
  put(file, 'model = "gpt"\n')
  expect((await run('up', '--only', 'codex', '--yes')).code).toBe(0)
  expect(existsSync(join(home, '.claude.json'))).toBe(false)
  const own = join(home, '.config/tieline/tieline.toml')
  put(file, `# a word of mine\n${readFileSync(file, 'utf8')}[tui]\ntheme = "dark"\n`)
  put(own, `${readFileSync(own, 'utf8')}\n[agents.mine]\nmodel = "a/b"\n`)
  const { code, out } = await run('down')
  expect([code, out]).toEqual([0, expect.stringContaining('with your changes')])
  expect(readFileSync(file, 'utf8')).toBe('# a word of mine\nmodel = "gpt"\n[tui]\ntheme = "dark"\n')
  expect(readFileSync(own, 'utf8')).toBe('\n[agents.mine]\nmodel = "a/b"\n')
})

test('down --only takes back what was written for those, and down the rest, as if it had been one', async () => {
  const { home, run } = cleanHome()
  put(join(home, '.claude.json'), '{"numStartups": 3}')
  const before = snapshot(home)
  expect((await run('up', '--yes')).code).toBe(0)
  const own = join(home, '.config/tieline/tieline.toml')
  const wrong = await run('down', '--only', 'clod')
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('one of claude, codex')])
  const some = await run('down', '--only', 'claude')
  expect([some.code, some.out]).toEqual([0, expect.stringContaining(`${own}: without claude.`)])
  expect(readFileSync(join(home, '.claude.json'), 'utf8')).toBe('{"numStartups": 3}')
  expect(existsSync(join(home, '.claude/settings.json'))).toBe(false)
  expect(readFileSync(own, 'utf8')).not.toContain('claude')
  expect(readFileSync(own, 'utf8')).toContain('[agents.codex]')
  expect(readFileSync(join(home, '.codex/config.toml'), 'utf8')).toContain('tieline')
  expect((await run('down', '--only', 'claude')).out).toBe('Nothing was written by "tieline up".\n')
  expect((await run('down', '--only', 'opencode,codex')).code).toBe(0)
  expect(snapshot(home)).toEqual(before)
  expect([join(home, '.config'), join(home, '.local'), join(home, '.codex')].filter(existsSync)).toEqual([])
})

test('down finds our entries in files that their program has written anew since', async () => {
  const { home, run } = cleanHome()
  const files = [join(home, '.claude.json'), join(home, '.claude/settings.json')]
  put(files[0] ?? '', '{"numStartups": 3}')
  put(files[1] ?? '', settings)
  expect((await run('up', '--only', 'claude', '--yes')).code).toBe(0)
  for (const file of files) {
    const text = readFileSync(file, 'utf8').replace('// mine', '')
    put(file, JSON.stringify({ ...(JSON.parse(text) as object), added: true }))
  }
  expect((await run('down')).code).toBe(0)
  const [first, second] = files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as object)
  expect(first).toEqual({ numStartups: 3, added: true })
  expect(second).toEqual({ ...(JSON.parse(settings.replace('// mine', '')) as object), added: true })
})

test('an entry of ours that was changed is left alone and named; one that is gone needs nothing', async () => {
  const { home, run } = cleanHome()
  expect((await run('up', '--only', 'codex', '--yes')).code).toBe(0)
  const file = join(home, '.codex/config.toml')
  put(file, readFileSync(file, 'utf8').replace('required = true', 'required = false'))
  const { code, out } = await run('down')
  expect([code, out]).toEqual([1, expect.stringContaining('remove it yourself')])
  expect(readFileSync(file, 'utf8')).toContain('required = false')
  put(file, 'model = "mine"\n')
  expect((await run('down')).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe('model = "mine"\n')
})

test('an agent that does not answer as it should cannot be called, and its line says what to do', async () => {
  const { run } = cleanHome({ protocolVersion: 7 })
  const { out } = await run('up', '--only', 'opencode', '--yes')
  expect(out).toContain('cannot be called: it speaks version 7 of the protocol, and 1 is needed')
  expect(out).toContain('None of them can be called yet.')
})

test('an adapter that cannot be installed is named with the command, and the rest is written', async () => {
  const { home, bin, run } = cleanHome()
  script(join(bin, 'npm'), '#!/bin/sh\necho "npm error network" >&2\nexit 1\n')
  const { code, out } = await run('up', '--only', 'codex,opencode', '--yes')
  expect(code).toBe(1)
  expect(out).toMatch(/codex-acp could not be installed: npm error network; try it yourself: npm install/)
  expect(out).toContain('opencode 9.8.7 · can call · can be called')
  expect(out).toMatch(/codex 9.8.7 · can call · cannot be called: the adapter .* is not installed/)
  expect((await run('down')).code).toBe(0)
  expect(Object.keys(snapshot(home))).toEqual([])
})

test('what up has connected is called in any directory, without a file there', async () => {
  const { home, run } = cleanHome()
  expect((await run('up', '--yes')).code).toBe(0)
  const called = await run('call', 'codex', 'say reviewed')
  expect(called).toMatchObject({ code: 0, out: expect.stringContaining('reviewed') })
  expect(existsSync(join(home, 'tieline.toml'))).toBe(false)
})
