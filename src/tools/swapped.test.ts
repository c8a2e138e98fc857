/**
 * Somebody else works in the directory at the same time: a thread swaps a directory for a link to the outside
 * and back, as fast as it can, while the tools run.
 */
import { link, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { chownSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isRefusal } from '../model/refusal.ts'
import type { Tool } from '../runtime/kernel/ports.ts'
import { resolveInside, withFile } from './containment.ts'
import { describeWorkspace } from './describe-workspace.ts'
import { edit } from './edit.ts'
import { openFolder, openInside } from './handles.ts'
import { list } from './list.ts'
import { read } from './read.ts'
import { replaceFile } from './replace-file.ts'
import { search } from './search.ts'
import { makeWorkspace, refusalIn, type Workspace } from './workspace-contract.ts'
import { write } from './write.ts'

/** Rounds are counted, not timed: a busy machine needs long for them. */
vi.setConfig({ testTimeout: 120_000 })

const swap = `
const { renameSync, rmSync, symlinkSync } = require('node:fs')
const { parentPort, workerData: { cwd, outside, stop } } = require('node:worker_threads')
const [sub, aside] = [cwd + '/sub', cwd + '/../aside']
const stopped = new Int32Array(stop)
const attempt = (act) => { try { act() } catch {} } // 'write' may have made the directory meanwhile
parentPort.postMessage('swapping')
while (Atomics.load(stopped, 0) === 0) {
  attempt(() => renameSync(sub, aside))
  attempt(() => symlinkSync(outside, sub))
  attempt(() => rmSync(sub, { recursive: true }))
  attempt(() => renameSync(aside, sub))
}`

const filesCount = 60

/** `sub` inside and the directory outside have files of the same names, so that each swap is a chance. */
async function makeSwapped(): Promise<Workspace> {
  const workspace = await makeWorkspace()
  const { cwd, outside } = workspace
  await mkdir(join(cwd, 'sub'))
  for (let n = 0; n < filesCount; n += 1) {
    await writeFile(join(cwd, `sub/${n}.txt`), 'mine\n')
    await writeFile(join(outside, `${n}.txt`), 'SECRET\n')
  }
  await writeFile(join(outside, 'SECRET-name'), '')
  const stop = new SharedArrayBuffer(4)
  const worker = new Worker(swap, { eval: true, workerData: { cwd, outside, stop } })
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  onTestFinished(async () => {
    Atomics.store(new Int32Array(stop), 0, 1)
    await ended
  })
  await new Promise((resolve) => worker.once('message', resolve))
  return workspace
}

/** What the tool said in all rounds; the swapping goes on throughout. */
async function runRounds(
  { context }: Workspace,
  tool: Tool,
  rounds: number,
  input: (round: number) => object,
): Promise<string> {
  const said: string[] = []
  for (let round = 0; round < rounds; round += 1)
    said.push(JSON.stringify((await tool.run(input(round) as never, context())).value))
  return said.join('\n')
}

test('search does not leak what is outside while a directory is swapped for a link', async () => {
  const workspace = await makeSwapped()
  const said = await runRounds(workspace, search, 200, () => ({ pattern: 'SECRET', max: 5 }))
  expect(said).not.toContain('"text":"SECRET"')
})

test('list does not show names from outside while a directory is swapped for a link', async () => {
  const workspace = await makeSwapped()
  const said = await runRounds(workspace, list, 600, (round) =>
    round % 2 === 0 ? { depth: 2 } : { path: 'sub' },
  )
  expect(said).not.toContain('SECRET-name')
})

test('read does not show a file from outside while its directory is swapped for a link', async () => {
  const workspace = await makeSwapped()
  const said = await runRounds(workspace, read, 8000, (round) => ({ path: `sub/${round % filesCount}.txt` }))
  expect(said).toContain('mine')
  expect(said).not.toContain('SECRET')
})

test('write and edit change nothing outside while a directory is swapped for a link', async () => {
  const workspace = await makeSwapped()
  const state = async (): Promise<string> =>
    JSON.stringify([
      await readdir(workspace.outside),
      await readFile(join(workspace.outside, '1.txt'), 'utf8'),
      await readFile(join(workspace.outside, '2.txt'), 'utf8'),
    ])
  const before = await state()
  await runRounds(workspace, write, 400, (round) => ({
    path: round % 2 === 0 ? 'sub/1.txt' : `sub/new-${round}/a.txt`,
    content: 'mine\n',
  }))
  await runRounds(workspace, edit, 400, () => ({ path: 'sub/2.txt', old: 'SECRET', new: 'overwritten' }))
  expect(await state()).toBe(before)
})

test('a description of the workspace does not read a manifest from outside', async () => {
  const { cwd, outside } = await makeWorkspace()
  await writeFile(join(outside, 'package.json'), '{"name":"SECRET"}')
  await symlink(join(outside, 'package.json'), join(cwd, 'package.json'))
  expect(JSON.stringify(await describeWorkspace(cwd, undefined))).not.toContain('SECRET')
})

test('where handles cannot be named, a swapped directory is still noticed', async () => {
  const { cwd, outside } = await makeWorkspace()
  await symlink(outside, join(cwd, 'sub'))
  const bounds = { root: cwd, hidden: [] }
  expect(openInside(bounds, join(cwd, 'sub/secret.txt'), 0, null)).toBeNull()
  expect(openFolder(bounds, join(cwd, 'sub/deep'), null)).toBeNull()
  const place = { ...bounds, path: join(cwd, 'sub/new.txt'), shown: 'sub/new.txt', exists: false }
  const live = new AbortController().signal
  expect(await replaceFile(place, 'sub/new.txt', 'mine', live, undefined, null)).toMatchObject({
    code: 'bad_input',
  })
  expect(await readdir(outside)).toEqual(['deep', 'secret.txt'])
})

const isRoot = process.getuid?.() === 0

test.skipIf(!isRoot)(
  'C4: a hard link to a file of another user is neither read, edited nor searched (needs root: it makes such a file)',
  async () => {
    const { cwd, outside, context, file } = await makeWorkspace()
    chownSync(join(outside, 'secret.txt'), 65534, 65534)
    await link(join(outside, 'secret.txt'), join(cwd, 'planted.txt'))
    expect(refusalIn(await read.run({ path: 'planted.txt' }, context()))).toContain('hard link')
    expect(refusalIn(await edit.run({ path: 'planted.txt', old: 'SECRET', new: 'x' }, context()))).toContain(
      'hard',
    )
    const found = await search.run({ pattern: 'SECRET' }, context())
    expect(JSON.stringify(found.value)).not.toContain('planted.txt')
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('SECRET\n')
    // One's own hard links are common, and read as before.
    await file('own.txt', 'mine\n')
    await link(join(cwd, 'own.txt'), join(cwd, 'second.txt'))
    expect(await read.run({ path: 'second.txt' }, context())).toMatchObject({ ok: true })
  },
)

test('C5: a session in /proc, /sys or /dev reads nothing, also by a link', async () => {
  const { cwd, context } = await makeWorkspace()
  await symlink('/proc/self', join(cwd, 'here'))
  for (const place of ['/proc/self', '/proc', '/sys/kernel', '/dev', join(cwd, 'here')]) {
    const inside = { ...context(), session: { ...context().session, cwd: place } }
    for (const [tool, input] of [
      [read, { path: 'environ' }],
      [list, {}],
      [search, { pattern: '.' }],
      [write, { path: 'comm', content: 'x' }],
    ] as const)
      expect(refusalIn(await tool.run(input as never, inside))).toContain('outside /proc, /sys and /dev')
    expect(isRefusal(await describeWorkspace(place, undefined))).toBe(true)
  }
})

test('C5: a session at the top of everything does not read the keys of the server from /proc either', async () => {
  const { context } = await makeWorkspace()
  const top = { ...context(), session: { ...context().session, cwd: '/' } }
  for (const [tool, input] of [
    [read, { path: 'proc/self/environ' }],
    [list, { path: 'proc/self' }],
    [search, { pattern: '.', path: 'proc/self' }],
  ] as const)
    expect(refusalIn(await tool.run(input, top))).toContain('outside /proc, /sys, /dev')
  const names = JSON.stringify((await list.run({ depth: 2 }, top)).value)
  expect(names).toContain('"proc/"')
  expect(names).not.toContain('"proc/self')
})

test('a file that is replaced while it is read is read whole, as it was', async () => {
  const workspace = await makeWorkspace()
  await workspace.file('a.txt', 'old')
  const place = await resolveInside({ cwd: workspace.cwd }, 'a.txt', 'path')
  if (isRefusal(place)) throw new Error('inside')
  const seen = await withFile(place, 'a.txt', async (opened) => {
    await replaceFile(place, 'a.txt', 'new', new AbortController().signal)
    return { text: await readFile(`/proc/self/fd/${opened}`, 'utf8').catch(() => 'old') }
  })
  expect(seen).toEqual({ text: 'old' })
})

test("C6: Tieline's own directories inside the session's are not read, written, listed or searched", async () => {
  const workspace = await makeWorkspace()
  const { cwd } = workspace
  await workspace.file('.tieline/token', 'SECRET')
  await workspace.file('mine.txt', 'SECRET')
  await symlink('.tieline', join(cwd, 'short'))
  const context = { ...workspace.context(), hidden: [join(cwd, '.tieline')] }
  for (const path of ['.tieline/token', 'short/token', '.tieline', '.tieline/new.json']) {
    for (const [tool, input] of [
      [read, { path }],
      [write, { path, content: 'x' }],
      [edit, { path, old: 'SECRET', new: 'x' }],
      [list, { path }],
      [search, { path, pattern: '.' }],
    ] as const)
      expect(refusalIn(await tool.run(input, context))).toContain("Tieline's own directories")
  }
  expect(await search.run({ pattern: 'SECRET' }, context)).toMatchObject({
    value: { matches: [{ path: 'mine.txt' }], files_searched: 1 },
  })
  expect((await list.run({ depth: 3 }, context)).value).toMatchObject({
    entries: ['.tieline/', 'mine.txt', 'short@'],
  })
  expect(JSON.stringify(await describeWorkspace(cwd, ['.tieline/token'], 'files', context.hidden))).toContain(
    'bad_input',
  )
  expect(await readFile(join(cwd, '.tieline/token'), 'utf8')).toBe('SECRET')
})
