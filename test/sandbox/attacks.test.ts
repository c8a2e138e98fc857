import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { packageDir } from '../../src/own-files.ts'
import { noSandbox, openPrison, type Prison } from '../kits/sandbox.ts'
import { attacks, renderAttacks } from './attacks.ts'

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

describe.skipIf(noSandbox)('an agent with `shell` that wants out of its sandbox', () => {
  let prison: Prison
  beforeEach(async () => {
    prison = await openPrison()
  })

  test.each(Object.entries(attacks))(
    'gets nowhere against %s',
    { timeout: 120_000 },
    async (_against, all) => {
      const set = Object.entries(prison.variables).map(([name, value]) => `export ${name}=${quote(value)}; `)
      const got: Record<string, string> = {}
      for (const { tried, command, got: expected } of all) {
        const { stdout, stderr } = await prison.run(`${set.join('')}${command}`)
        const said = `${stdout}${stderr}`
        got[tried] = !said.includes('ESCAPED') && said.includes(expected) ? expected : said
      }
      expect(got).toEqual(Object.fromEntries(all.map(({ tried, got: expected }) => [tried, expected])))
      expect(prison.visits).toEqual([])
      expect(listPlanted(prison)).toEqual([])
      expect(execFileSync('ps', ['axo', 'args']).toString()).not.toContain('sleep 3333')
    },
  )

  test('works in its own directory', async () => {
    const ran = await prison.run('echo mine > file; pwd; cat file; ls -A /tmp | wc -l')
    // Nothing but this package, where it was cloned to a place below.
    const inTmp = packageDir.startsWith('/tmp/') ? 1 : 0
    expect(ran).toMatchObject({ exit_code: 0, stdout: `${prison.project}\nmine\n${inTmp}\n` })
    expect(readFileSync(join(prison.project, 'file'), 'utf8')).toBe('mine\n')
  })
})

/** What changed outside of the project. */
function listPlanted({ home, dataDir }: Prison): string[] {
  const planted = ['/tmp/tieline-planted', '/dev/shm/tieline-planted'].filter((path) => existsSync(path))
  for (const path of ['.bashrc', '.config/tieline/tieline.toml', 'other/file', 'other/.git/hooks/pre-commit'])
    if (readFileSync(join(home, path), 'utf8').includes('planted')) planted.push(path)
  const made = ['.ssh/authorized_keys', '.local/bin/git', '.npm/planted', '.config/tieline/trusted']
  planted.push(...made.filter((path) => existsSync(join(home, path))))
  return [...planted, ...readdirSync(dataDir).filter((name) => name.includes('planted'))]
}

test('the table in docs/security.md has every attack and what it got', () => {
  expect(readFileSync('docs/security.md', 'utf8').replaceAll(/ +\|/g, ' |')).toContain(renderAttacks())
  expect(Object.values(attacks).flat().length).toBeGreaterThan(60)
})
