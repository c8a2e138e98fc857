/** What a driven agent asks leave for: by rule, or by a person. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { isRefusal } from '../../src/model/refusal.ts'
import { tieline } from '../../src/tieline.ts'
import { driveFake, fakeCommand, type Driven } from '../kits/driven.ts'

async function answerNext({ served }: Driven, answer: 'allow' | 'deny', scope?: 'session'): Promise<unknown> {
  return vi.waitFor(
    async () => {
      const open = await served.line.questions.list()
      const question = isRefusal(open) ? undefined : open.questions[0]
      if (question === undefined) throw new Error('nothing is asked')
      await served.line.questions.answer(question.id, { answer, scope })
      return question
    },
    { timeout: 20_000 },
  )
}

test.each([
  ['allow', 'allowed'],
  ['deny', 'denied'],
] as const)('a person is asked, and %s reaches the agent', async (answer, said) => {
  const world = await driveFake({}, {}, { asks: true })
  const running = world.call('say I need to clean up.\nask rm -rf build')
  const question = await answerNext(world, answer)
  expect(question).toMatchObject({
    agent: 'fake',
    tool: 'execute',
    input: { title: 'rm -rf build' },
    path: ['external', 'fake'],
  })
  expect((await running).output).toContain(said)
})

test('leave for the session is asked for once, and remembered by us, not by the agent', async () => {
  const world = await driveFake({}, {}, { asks: true })
  const running = world.call('ask one\nask two')
  await answerNext(world, 'allow', 'session')
  expect((await running).output).toBe('allowed\nallowed')
  const answers = (await world.events('question.answered')).map(({ by }) => by)
  expect(answers).toEqual(['user', 'user, for this session'])
  expect(world.log().flatMap((entry) => ('asked' in entry ? [entry['outcome']] : []))).toEqual(
    Array(2).fill({ outcome: 'selected', optionId: 'once' }),
  )
})

test('a request that names only its tool call is understood by what was said of it before', async () => {
  const world = await driveFake({ bareRequests: true }, {}, { asks: true })
  const running = world.call('ask rm -rf build')
  expect(await answerNext(world, 'deny')).toMatchObject({ input: { title: 'rm -rf build' } })
  await running
})

test('in a program without a server nobody can be asked, which is a denial', async () => {
  const home = mkdtempSync(join(tmpdir(), 'tieline-driven-line-'))
  await using line = await tieline({
    agents: { fake: { driver: 'acp', command: fakeCommand({ home }), sandbox: 'off' } },
    onWarning: () => undefined,
  })
  expect(await line.run('fake', 'ask rm -rf build')).toMatchObject({ outcome: 'completed', output: 'denied' })
  rmSync(home, { recursive: true, force: true })
})

test.each([
  ['allow', 'ask x\nread y', 'allowed\nread'],
  ['deny', 'ask x\nread y', 'denied\ndenied'],
  ['readonly', 'ask x\nread y', 'denied\nread'],
] as const)('permissions = %j decides without asking', async (permissions, task, output) => {
  const world = await driveFake({}, { permissions })
  expect((await world.call(task)).output).toBe(output)
  expect(await world.events('question.asked')).toEqual([])
})

test('our own tools need no leave: their rules are checked where they run', async () => {
  const world = await driveFake({ asksFirst: true }, { permissions: 'deny' })
  expect((await world.call('own sub_agent')).output).toBe('allowed')
  // A command is never ours, whatever it calls itself.
  expect((await world.call('ask mcp__tieline__sub_agent')).output).toBe('denied')
})
