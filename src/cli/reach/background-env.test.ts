import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startInBackground } from './background.ts'
import type { Place } from './place.ts'

/** What a program that is started in the place of a server sees of these variables. */
async function startWith(variables: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-background-'))
  const [program, seen] = [join(dataDir, 'program.cjs'), join(dataDir, 'seen.json')]
  const fs = "require('node:fs')"
  writeFileSync(
    program,
    `const [seen, names] = ${JSON.stringify([seen, Object.keys(variables)])}
    const found = names.map((name) => [name, process.env[name]])
    ${fs}.writeFileSync(seen + '.new', JSON.stringify(Object.fromEntries(found)))
    ${fs}.renameSync(seen + '.new', seen)`,
  )
  const [before, argv, execArgv] = [{ ...process.env }, process.argv, process.execArgv]
  onTestFinished(() => {
    process.env = before
    Object.assign(process, { argv, execArgv })
    rmSync(dataDir, { recursive: true, force: true })
  })
  Object.assign(process.env, variables)
  Object.assign(process, { argv: [process.execPath, program], execArgv: [] })
  const config = { server: { host: '127.0.0.1', port: 0 } }
  await startInBackground({ dataDir, named: null, config } as unknown as Place)
  await expect.poll(() => existsSync(seen), { timeout: 10_000 }).toBe(true)
  return JSON.parse(readFileSync(seen, 'utf8')) as Record<string, string>
}

test('a server that a client starts knows where the client keeps its files, and not that it is below it', async () => {
  const kept = { CODEX_HOME: '/home/me/.codex', OPENCODER: 'x', CLAUDE_CONFIG_DIR: '/home/me/.claude' }
  const ofClients = {
    CLAUDECODE: '1',
    CLAUDE_CODE_ENTRYPOINT: 'cli',
    CLAUDE_PROJECT_DIR: '/work',
    COPILOT_AGENT_ID: '1',
    CODEX_HOME_OF_SANDBOX: '/x',
    CODEX_THREAD_ID: '1',
    GEMINI_CLI: '1',
    OPENCODE: '1',
    OPENCODE_PID: '7',
  }
  expect(await startWith({ ...kept, ...ofClients })).toEqual(kept)
})
