/** A real directory with a secret beside it, and what every tool that takes a path must hold. */
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Agent } from '../model/agent.ts'
import type { SessionRow, TurnRow } from '../model/facts.ts'
import type { Json } from '../model/json.ts'
import type { Acts, Tool, ToolAnswer, ToolContext } from '../runtime/kernel/ports.ts'

export type Workspace = {
  cwd: string
  /** Beside `cwd`: holds `secret.txt` with the text SECRET. */
  outside: string
  context: (signal?: AbortSignal) => ToolContext
  file: (path: string, content: string | Uint8Array) => Promise<void>
  /** Everything outside, to see that nothing was changed. */
  outsideState: () => Promise<string>
}

export async function makeWorkspace(): Promise<Workspace> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'tieline-')))
  onTestFinished(() => rm(base, { recursive: true, force: true }))
  const cwd = join(base, 'work')
  const outside = join(base, 'work-outside')
  await mkdir(cwd)
  await mkdir(join(outside, 'deep'), { recursive: true })
  await writeFile(join(outside, 'secret.txt'), 'SECRET\n')
  return {
    cwd,
    outside,
    context: (signal = new AbortController().signal) => contextIn(cwd, signal),
    async file(path, content) {
      await mkdir(join(cwd, path, '..'), { recursive: true })
      await writeFile(join(cwd, path), content)
    },
    async outsideState() {
      const names = await readdir(outside, { recursive: true })
      return `${names.sort().join(' ')}: ${await readFile(join(outside, 'secret.txt'), 'utf8')}`
    },
  }
}

function contextIn(cwd: string, signal: AbortSignal): ToolContext {
  const no = (): Promise<never> => Promise.reject(new Error('a workspace tool calls nobody'))
  const acts: Acts = {
    call: no,
    refuse: no,
    waitForCall: no,
    readOutput: no,
    steer: no,
    listAgents: no,
    send: no,
    spawn: no,
    state: no,
    waitForSession: no,
    listSessions: no,
    sendMail: no,
    readInbox: no,
    acceptMail: no,
    waitForMail: no,
  }
  // Workspace tools read only the session's directory and the signal, so these rows need no more to be real.
  const turn: Partial<TurnRow> = { id: 'turn_1' }
  const session: Partial<SessionRow> = { id: 'ses_1', cwd }
  return {
    turn: turn as TurnRow,
    session: session as SessionRow,
    agent: Agent.parse({ name: 'worker' }),
    callable: [],
    signal,
    acts,
    stepKey: '1',
    shownTokens: 2500,
  }
}

/** The fields of an answer, for tests that look into it. */
export function answerFields(answer: ToolAnswer): Record<string, Json> {
  const { value } = answer
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new Error(`no object: ${JSON.stringify(value)}`)
  return value
}

/** One field of an answer that is text. */
export function textIn(answer: ToolAnswer, name: string): string {
  const text = answerFields(answer)[name]
  if (typeof text !== 'string') throw new Error(`no text: ${JSON.stringify(text)}`)
  return text
}

/** The words of a refusal; fails where the answer is none in the one shape that all tools share. */
export function refusalIn(answer: ToolAnswer): string {
  expect(answer).toEqual({
    ok: false,
    value: { error: { code: expect.any(String), message: expect.any(String) } },
  })
  return JSON.stringify(answer.value)
}

/** Each of these leads out of the directory, in its own way. */
const escapes: readonly { way: string; path: (workspace: Workspace) => string }[] = [
  { way: '".."', path: () => '../work-outside/secret.txt' },
  { way: '".." in the middle', path: () => 'sub/../../work-outside/secret.txt' },
  { way: 'an absolute path', path: (workspace) => join(workspace.outside, 'secret.txt') },
  { way: 'a link to a file', path: () => 'link-to-file' },
  { way: 'a link to a directory', path: () => 'link-to-directory/secret.txt' },
  { way: 'a link to a link', path: () => 'sub/link-to-link/secret.txt' },
  { way: 'a link and ".."', path: () => 'link-to-deep/../secret.txt/../../work-outside/../../work-outside' },
  { way: 'a link to what does not exist yet', path: () => 'link-to-nothing' },
  { way: 'a new name below a link', path: () => 'link-to-directory/new/new.txt' },
]

async function plantLinks({ cwd, outside }: Workspace): Promise<void> {
  await mkdir(join(cwd, 'sub'))
  await symlink(join(outside, 'secret.txt'), join(cwd, 'link-to-file'))
  await symlink('../work-outside', join(cwd, 'link-to-directory'))
  await symlink('../link-to-directory', join(cwd, 'sub/link-to-link'))
  await symlink('../work-outside/deep', join(cwd, 'link-to-deep'))
  await symlink('../work-outside/made.txt', join(cwd, 'link-to-nothing'))
}

/** Run by every tool that takes a path. */
export function containedContract(tool: Tool, inputFor: (path: string) => Json): void {
  for (const escape of escapes) {
    test(`${tool.name} refuses to leave the directory by ${escape.way}`, async () => {
      const workspace = await makeWorkspace()
      await plantLinks(workspace)
      const before = await workspace.outsideState()
      const path = escape.path(workspace)
      const message = refusalIn(await tool.run(inputFor(path), workspace.context()))
      expect(message).toContain('bad_input')
      expect(message).toContain('path: ')
      expect(message).toContain(path.slice(0, 20))
      expect(message).toContain('inside the working directory')
      expect(message).not.toContain('SECRET')
      expect(await workspace.outsideState()).toBe(before)
    })
  }

  test(`${tool.name} refuses NUL characters, long paths, rings of links and unknown fields with words`, async () => {
    const workspace = await makeWorkspace()
    await symlink('ring', join(workspace.cwd, 'ring'))
    // The kernel stops at the missing name; a resolver that takes ".." by its words goes around for ever.
    await symlink('missing/../endless', join(workspace.cwd, 'endless'))
    for (const path of ['a\0b', 'x'.repeat(5000), 'x'.repeat(300), 'ring', 'endless', ''])
      expect(refusalIn(await tool.run(inputFor(path), workspace.context()))).toContain('path: ')
    const unknown = { ...(inputFor('a') as Record<string, Json>), surprise: 1 }
    expect(refusalIn(await tool.run(unknown, workspace.context()))).toContain('surprise')
    expect(refusalIn(await tool.run('text', workspace.context()))).toContain('bad_input')
  })

  test(`${tool.name} works in a directory that is itself reached by a link`, async () => {
    const workspace = await makeWorkspace()
    await workspace.file('here/a.txt', 'aaa\n')
    await workspace.file('here/b.txt', 'aaa\n')
    await symlink('work', `${workspace.cwd}-link`)
    const context = workspace.context()
    const linked = { ...context, session: { ...context.session, cwd: `${workspace.cwd}-link` } }
    const [first, second] = tool.name === 'list' ? ['here', 'here'] : ['here/a.txt', 'here/b.txt']
    expect(await tool.run(inputFor(first), linked)).toMatchObject({ ok: true })
    expect(await tool.run(inputFor(`${workspace.cwd}-link/${second}`), linked)).toMatchObject({ ok: true })
  })

  test(`${tool.name} throws a fault when the directory is gone, or the reason when it was stopped`, async () => {
    const workspace = await makeWorkspace()
    await rm(workspace.cwd, { recursive: true })
    await expect(tool.run(inputFor('a'), workspace.context())).rejects.toThrow("session's directory")
    await expect(
      tool.run(inputFor('a'), workspace.context(AbortSignal.abort(new Error('turn ended')))),
    ).rejects.toThrow('turn ended')
  })

  test(`${tool.name} tells a model its input as a schema without noise`, async () => {
    const workspace = await makeWorkspace()
    const spec = tool.describe(workspace.context())
    expect(spec.name).toBe(tool.name)
    expect(spec.input).toMatchObject({
      type: 'object',
      additionalProperties: false,
      properties: { path: { type: 'string' } },
    })
    expect(JSON.stringify(spec.input)).not.toMatch(/9007199254740991|\$schema/)
  })
}
