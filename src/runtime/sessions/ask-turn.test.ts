/** A message whose sender waits for the answer: what it hears meanwhile, and what happens if it goes. */
import { expect, test } from 'vitest'
import { session } from '../../../test/kits/letters.ts'
import { use } from '../../../test/kits/mortal.ts'
import { world, type World } from '../../../test/kits/world.ts'
import { isRefusal } from '../../model/refusal.ts'
import { askTurn, type AskAnswer } from './ask-turn.ts'

const talkers = (): Promise<World> => {
  const made: Promise<World> = world({
    agents: {
      talker: {
        script: async (turn) => {
          turn.say(`about ${turn.task}`)
          await (await made).clock.sleep(1000, turn.signal)
          return `did ${turn.task}`
        },
      },
    },
  })
  return made
}

async function answered(w: World, answer: ReturnType<typeof askTurn>): Promise<AskAnswer> {
  const given = await w.until(answer)
  if (isRefusal(given)) throw new Error(given.code)
  return given
}

test('who asks hears the text of its own turn, and of no other', async () => {
  const w = await talkers()
  const [one, other] = [await session(w, 'talker'), await session(w, 'talker')]
  const heard: string[] = []
  const asked = askTurn(w.node.runtime, one, 'one', { ...use(), onDelta: ({ text }) => heard.push(text) })
  const meanwhile = askTurn(w.node.runtime, other, 'other', use())
  expect((await answered(w, asked)).ended.output).toBe('did one')
  expect((await answered(w, meanwhile)).ended.output).toBe('did other')
  expect(heard.join('')).toContain('about one')
  expect(heard.join('')).not.toContain('other')
  expect(w.node.runtime.deltaListeners.size + w.node.runtime.heard.size).toBe(0)
})

test('who asks and goes away has cancelled its turn', async () => {
  const w = await talkers()
  const gone = new AbortController()
  const asked = askTurn(w.node.runtime, await session(w, 'talker'), 'one', use({ signal: gone.signal }))
  await w.rest()
  gone.abort()
  expect((await answered(w, asked)).ended).toMatchObject({ outcome: 'cancelled', output: 'about one' })
})

test('a retry is told the same end at the same time, and what was used', async () => {
  const w = await talkers()
  const id = await session(w, 'talker')
  const first = await answered(w, askTurn(w.node.runtime, id, 'one', use({ id: 'msg_key' })))
  await w.pass(10_000)
  const again = await answered(w, askTurn(w.node.runtime, id, 'one', use({ id: 'msg_key' })))
  expect([again.endedAt, again.usage, again.ended]).toEqual([first.endedAt, first.usage, first.ended])
})
