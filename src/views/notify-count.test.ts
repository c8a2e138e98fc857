import { expect, test } from 'vitest'
import { virtualClock } from '../../test/kits/world.ts'
import type { Need } from '../wire/needs.ts'
import { notifyView } from './notify.ts'

/** The titles that are announced where so many drafts came at once. */
async function announce(count: number): Promise<string[]> {
  const [clock, ran] = [virtualClock(), [] as string[]]
  const needs = Array.from({ length: count }, (_, n) => ({
    kind: 'draft',
    id: `m${n}`,
    title: `draft ${n}`,
    at: clock.now(),
    cwd: '',
    task: '',
    text: '',
    tool: null,
    input: null,
    flow: null,
  })) as unknown as Need[]
  const view = notifyView({
    command: ['ring', '{title}'],
    needs: async () => needs,
    link: () => 'http://here/',
    mask: (text) => text,
    run: async ([, title = '']) => (ran.push(title), null),
    clock,
    warn: (text) => expect(text).toBe(''),
  })
  for (let n = 0; n < 5; n += 1) {
    clock.tick()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await view.close()
  return ran
}

test('of what comes at once five are announced one by one, the oldest first, and the rest in one', async () => {
  const five = ['draft 4', 'draft 3', 'draft 2', 'draft 1', 'draft 0']
  expect(await announce(5)).toEqual(five)
  const next = (count: number): string[] => five.map((title) => title.replace(/\d/, (n) => `${+n + count}`))
  expect(await announce(6)).toEqual([...next(1), 'One more thing needs you'])
  expect(await announce(8)).toEqual([...next(3), '3 more things need you'])
})
