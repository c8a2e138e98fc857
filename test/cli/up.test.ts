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

vi.setConfig(patience)

function cleanHome(): { home: string; run: (...args: string[]) => Promise<Ended> } {
  const home = mkdtempSync(join(tmpdir(), 'tieline-up-'))
  garbage.push(home)
  const bin = join(home, 'bin')
  mkdirSync(bin)
  for (const name of ['claude', 'codex', 'opencode']) {
    writeFileSync(join(bin, name), '#!/bin/sh\necho "9.8.7"\n')
    chmodSync(join(bin, name), 0o755)
  }
  const env = { PATH: `${bin}:/usr/bin:/bin`, XDG_CONFIG_HOME: join(home, '.config'), HOME: home }
  return {
    home,
    run(...args) {
      const started = start(home, args, env)
      started.child.stdin.end()
      return started.ended
    },
  }
}

const put = (file: string, text: string): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** Every file below, but for the programs. */
const snapshot = (home: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && !one.parentPath.endsWith('bin'))
      .map((one) => join(one.parentPath, one.name))
      .map((file) => [file, readFileSync(file, 'utf8')]),
  )

test('up twice changes nothing the second time, and down leaves every file as it was', async () => {
  const { home, run } = cleanHome()
  put(join(home, '.claude.json'), '{"numStartups": 3,\n "mcpServers": {"other": {"command": "x"}}}\n')
  put(join(home, '.codex/config.toml'), '# mine\nmodel = "gpt"')
  const before = snapshot(home)
  expect((await run('up', '--dry-run')).out).toContain('[agents.codex]')
  expect(snapshot(home)).toEqual(before)
  const first = await run('up', '--yes')
  expect(first).toMatchObject({ code: 0, err: '' })
  expect(first.out).toContain('opencode 9.8.7 · can call · can be called')
  const written = snapshot(home)
  expect(written[join(home, '.claude.json')]).toContain('"tieline"')
  expect(written[join(home, '.config/tieline/tieline.toml')]).toContain('preset = "opencode"')
  const second = await run('up', '--yes')
  expect(second.code).toBe(0)
  expect(second.out).toContain('Nothing to change.')
  expect(snapshot(home)).toEqual(written)
  expect((await run('down')).code).toBe(0)
  expect(snapshot(home)).toEqual(before)
  expect(existsSync(join(home, '.config'))).toBe(false)
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

test('an entry of ours that was changed is left alone and named', async () => {
  const { home, run } = cleanHome()
  expect((await run('up', '--only', 'codex', '--yes')).code).toBe(0)
  const file = join(home, '.codex/config.toml')
  put(file, readFileSync(file, 'utf8').replace('required = true', 'required = false'))
  const { code, out } = await run('down')
  expect([code, out]).toEqual([1, expect.stringContaining('remove it yourself')])
  expect(readFileSync(file, 'utf8')).toContain('required = false')
})
