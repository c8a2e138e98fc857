import { expect, test } from 'vitest'
import { use } from '../../../test/kits/mortal.ts'
import { world } from '../../../test/kits/world.ts'
import type { Who } from '../desk/asker.ts'
import type { Tool, ToolAnswer } from '../kernel/ports.ts'

test('R11: a try that is still under way is not done again, however many others there are', async () => {
  let [runs, open]: [number, () => void] = [0, () => undefined]
  const opened = new Promise<void>((resolve) => (open = resolve))
  const slow: Tool = {
    name: 'slow',
    effect: 'read',
    calling: false,
    describe: () => ({ name: 'slow', description: '', input: {} }),
    run: async () => {
      runs += 1
      await opened
      return { ok: true, value: runs }
    },
  }
  const w = await world({
    tools: [slow],
    agents: { driven: { script: async (turn) => (await w.clock.sleep(60_000, turn.signal), 'done') } },
  })
  void w.ask('driven', 'go')
  await w.rest()
  const who: Who = { kind: 'turn', turn: [...w.node.runtime.running.keys()][0] ?? 'turn_none' }
  const tryAt = (n: number) => w.exchange.useTool(who, 'slow', { n }, use({ id: `k${n}` }))
  const tries = Array.from({ length: 1001 }, (_, n) => tryAt(n))
  for (let n = 0; n < 100 && runs < tries.length; n += 1) await w.rest()
  expect(runs).toBe(1001)
  const again = tryAt(0)
  await w.rest()
  expect(runs).toBe(1001)
  open()
  expect(((await w.until(again)) as ToolAnswer).value).toEqual(
    ((await w.until(tries[0] ?? again)) as ToolAnswer).value,
  )
  await w.until(Promise.all(tries))
})
