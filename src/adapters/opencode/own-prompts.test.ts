import { expect, test } from 'vitest'
import { memoryOpencode } from '../../../test/kits/opencode-double.ts'
import { gate } from '../../../test/kits/opencode-world.ts'
import { OwnPrompts } from './own-prompts.ts'

const { signal: never } = new AbortController()

/** Time passes at once, so that it looks again and again. */
function open() {
  const { client } = memoryOpencode('/work', async () => '')
  const surroundings = { sleep: () => new Promise<void>(setImmediate), draw: () => '' }
  return { client, prompts: new OwnPrompts({ opencode: client, surroundings }) }
}

/** Whatever could begin has begun. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
}

test('a prompt of ours begins when the one before is over, also where that failed; other sessions go on', async () => {
  const { prompts } = open()
  const [first, done] = [gate(), [] as string[]]
  const failing = prompts.run('a', never, async () => {
    await first.opened
    throw new Error('not now')
  })
  const second = prompts.run('a', never, async () => done.push('second'))
  await prompts.run('b', never, async () => done.push('other'))
  await settle()
  expect(done).toEqual(['other'])
  first.open()
  await expect(failing).rejects.toThrow('not now')
  await second
  expect(done).toEqual(['other', 'second'])
})

test('a prompt that comes when the first of two is over waits for the second', async () => {
  const { prompts } = open()
  const [first, second, done] = [gate(), gate(), [] as string[]]
  const one = prompts.run('a', never, () => first.opened)
  const two = prompts.run('a', never, () => second.opened)
  first.open()
  await one
  await settle()
  const three = prompts.run('a', never, async () => done.push('third'))
  await settle()
  expect(done).toEqual([])
  second.open()
  await Promise.all([two, three])
  expect(done).toEqual(['third'])
})

test('a prompt of ours waits for one that the user has just sent, before opencode says that it works', async () => {
  const { prompts } = open()
  const [known, done] = [gate(), [] as string[]]
  const entered = prompts.enter('a', () => known.opened)
  const ours = prompts.run('a', never, async () => done.push('ours'))
  await settle()
  expect(done).toEqual([])
  known.open()
  await Promise.all([entered, ours])
  expect(done).toEqual(['ours'])
})

test('a prompt of ours waits until opencode says that the session rests', async () => {
  const { client, prompts } = open()
  let status: Record<string, { type: string }> = { a: { type: 'busy' } }
  client.session.status = async () => ({ data: status })
  const done: string[] = []
  const ours = prompts.run('a', never, async () => done.push('ours'))
  await settle()
  expect(done).toEqual([])
  status = { a: { type: 'idle' } }
  await ours
  expect(done).toEqual(['ours'])
})

test('one that is cancelled while it waits never begins, and whatever waits behind it is not held up', async () => {
  const { prompts } = open()
  const [first, done, cancel] = [gate(), [] as string[], new AbortController()]
  const running = prompts.run('a', never, () => first.opened)
  const waiting = prompts.run('a', cancel.signal, async () => done.push('cancelled'))
  const last = prompts.run('a', never, async () => done.push('last'))
  cancel.abort(new Error('cancelled'))
  await expect(waiting).rejects.toThrow('cancelled')
  await settle()
  expect(done).toEqual([])
  first.open()
  await Promise.all([running, last])
  expect(done).toEqual(['last'])
})
