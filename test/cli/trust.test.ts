/** A configuration that was found runs nothing and sends nothing before a person has agreed to its bytes. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { patience, start } from '../kits/cli.ts'
import {
  cwd,
  env,
  evilUrl,
  expectNothing,
  hostile,
  planted,
  put,
  ran,
  received,
  run,
} from '../kits/planted.ts'

vi.setConfig(patience)

test("a foreign repository's mcpServers.command does not run, and its apiKeyEnv is not sent", async () => {
  put(hostile())
  const unused = 'tieline.toml is not used: nobody has agreed to it yet'
  for (const args of [
    ['run', 'hello'],
    ['call', 'helper', 'hello'],
  ]) {
    const { code, err } = await run(...args)
    expect([code, err]).toEqual([1, expect.stringContaining(unused)])
    expect(err).toContain('The agent "helper" stands in')
    expect(err).toContain('tieline trust')
  }
  expect((await run('doctor')).out).toContain(unused)
  expectNothing()
  // The same file, once it is agreed to, does both: so this test can fail.
  expect((await run('trust', '--yes')).code).toBe(0)
  await run('run', 'hello', '--agent', 'helper', '--timeout', '5')
  expect(existsSync(ran)).toBe(true)
  expect(received.join()).toContain('sk-something-private')
})

describe('a planted file is not used', () => {
  test('in a parent directory', async () => {
    put(hostile())
    const below = join(cwd, 'project')
    mkdirSync(below)
    const started = start(below, ['run', 'hello', '--agent', 'helper'], { ...env, HOME: join(cwd, 'home') })
    started.child.stdin.end()
    expect((await started.ended).code).toBe(1)
    expectNothing()
  })

  test('by a symbolic link to one that was agreed to elsewhere', async () => {
    const other = join(cwd, 'other')
    mkdirSync(other)
    writeFileSync(join(other, 'tieline.toml'), hostile())
    expect((await run('trust', 'other', '--yes')).code).toBe(0)
    symlinkSync(join(other, 'tieline.toml'), join(cwd, 'tieline.toml'))
    expect((await run('run', 'hello', '--agent', 'helper')).err).toContain('is not used')
    expectNothing()
  })

  test('as a pipe, a directory or a file of strangers that is not even TOML, and nothing hangs', async () => {
    await new Promise((resolve) => spawn('mkfifo', [join(cwd, 'tieline.toml')]).on('close', resolve))
    const said = 'there is no log in'
    expect((await run('calls')).err).toContain(said)
    rmSync(join(cwd, 'tieline.toml'))
    mkdirSync(join(cwd, 'tieline.toml'))
    expect((await run('calls')).err).toContain(said)
    rmSync(join(cwd, 'tieline.toml'), { recursive: true })
    put('= [')
    expect((await run('calls')).err).toMatch(/correct this first[^]*there is no log in/)
    expectNothing()
  })

  test('after it was changed, and the change is shown', async () => {
    put('[agents.helper]\ndriver = "scripted"\nscript = [{ say = "hi" }]\n')
    expect((await run('trust', '--yes')).code).toBe(0)
    expect((await run('run', 'hello')).out).toContain('hi')
    put(hostile())
    expect((await run('run', 'hello')).err).toContain('it has changed since a person agreed to it')
    const asked = await run('trust')
    expect(asked.code).toBe(1)
    expect(asked.err).toContain(`+ agent helper: touch ${ran} (MCP server x)`)
    expect(asked.err).toContain(`+ provider evil: ${evilUrl}/v1`)
    expect(asked.err).toContain(`+ ${planted}`)
    expectNothing()
  })

  test('written by an agent that has only write', async () => {
    const agent = {
      driver: 'scripted',
      tools: ['write'],
      script: [
        {
          when: { iteration: 1 },
          tools: [{ name: 'write', input: { path: 'tieline.toml', content: hostile() } }],
        },
        { say: 'planted' },
      ],
    }
    writeFileSync(join(cwd, 'mine.json'), JSON.stringify({ agents: { writer: agent } }))
    expect((await run('run', 'go', '--config', 'mine.json')).out).toContain('planted')
    expect(readFileSync(join(cwd, 'tieline.toml'), 'utf8')).toBe(hostile())
    expect((await run('run', 'hello', '--agent', 'helper')).code).toBe(1)
    expectNothing()
  })

  test('by a server that an MCP client starts in the background', async () => {
    put(hostile())
    const started = start(cwd, ['mcp'], env)
    const ask = (id: number, method: string, params: object) =>
      started.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    ask(1, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    await started.says('"id":1')
    ask(2, 'tools/call', { name: 'call_agent', arguments: { agent_id: 'helper', message: 'hello' } })
    await started.says('"id":2')
    expect(started.out()).toContain('helper')
    started.child.stdin.end()
    await started.ended
    expectNothing()
    expect((await run('stop')).code).toBe(0)
  })
})

test('what was hashed is what is used: a file that is swapped after the look is asked about again', async () => {
  const agreed = '[agents.helper]\ndriver = "scripted"\nscript = [{ say = "hi" }]\n'
  put(agreed)
  expect((await run('trust', '--yes')).code).toBe(0)
  // The file on disk is another one by the time the server looks: nothing of it is used.
  const { loadConfig } = await import('../../src/config.ts')
  const { openServer } = await import('../../src/open-server.ts')
  const place = { cwd, env: { XDG_CONFIG_HOME: join(cwd, 'xdg') }, home: cwd }
  const loaded = await loadConfig(place)
  expect(loaded).toMatchObject({ untrusted: null, file: join(cwd, 'tieline.toml') })
  put(hostile())
  const served = await openServer({ loaded, dataDir: join(cwd, 'data'), port: 0, cwd })
  try {
    const result = await served.line.run('helper', 'hello')
    expect(result).toMatchObject({ outcome: 'refused', refusal: { code: 'project_untrusted' } })
    put(agreed)
    expect(await served.line.run('helper', 'hello')).toMatchObject({ outcome: 'completed', output: 'hi' })
  } finally {
    await served.close()
  }
  put(hostile())
  expect(await loadConfig(place)).toMatchObject({ file: null, untrusted: { state: 'changed' } })
  expectNothing()
})
