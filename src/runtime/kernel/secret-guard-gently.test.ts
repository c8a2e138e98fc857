/** Long texts are looked at in slices, and what is written is what a look in one go would have written. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { longestStall } from '../../../test/kits/linear.ts'
import { sent, started, stepped } from '../../../test/kits/store.ts'
import { openLine, type OpenLineOptions } from '../../open-line.ts'
import type { Event } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { secretScan } from '../../model/secret-scan.ts'
import { tokenShapes } from '../../model/secret-shapes.ts'
import { secretGuard } from './secret-guard.ts'

const known = 'correct-horse-9'
const shaped = `sk-${'a1B2'.repeat(6)}`
const env = { SERVICE_TOKEN: known }
const halfKeys = (units: number): string => '-sk-AKEY=xoxb-'.repeat(units / 14)
const step = (output: Json, input: Json = null): Event => ({
  ...stepped('ses_a', 'turn_a', null, 'tool'),
  input,
  output,
})

async function cleaned(events: readonly Event[]): Promise<readonly Event[]> {
  const guard = secretGuard({ env })
  expect(guard.clean(events)).toBeUndefined()
  const clean = guard.clean(events, await guard.inspect(events))
  expect(clean).not.toBeUndefined()
  return clean ?? events
}

test('a scan in slices finds what a scan in one go finds, also where others scan in between', () => {
  const prefixes = tokenShapes.flatMap((shape) => shape.prefixes)
  const piece = fc.oneof(
    fc.constantFrom(...prefixes, 'password="', 'Bearer ', '://a:b1', 'eyJ', known, shaped, '-----BEGIN '),
    fc.string({ maxLength: 30 }),
    fc
      .constantFrom('x', 'a1', ' ', '-')
      .chain((one) => fc.integer({ min: 1, max: 20_000 }).map((n) => one.repeat(n))),
  )
  const texts = fc.array(piece, { minLength: 1, maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, texts, (text, other) => {
      const [whole, sliced] = [secretScan([known]), secretScan([known])]
      const scanning = sliced.inSlices(text)
      let scanned = scanning.next()
      for (; scanned.done !== true; scanned = scanning.next()) whole(other)
      expect(scanned.value).toEqual(whole(text))
    }),
    { numRuns: 200 },
  )
})

test('short texts are decided at once; long ones are inspected first, wherever they stand', async () => {
  const guard = secretGuard({ env })
  expect(guard.clean([started('ses_a', 'turn_a'), step('x'.repeat(100_000))])).toBeNull()
  const long = 'x '.repeat(100_000)
  for (const events of [
    [sent('ses_a', 'turn_a', { text: long })],
    [step({ deep: [{ deeper: long }] })],
    [step(Array.from({ length: 5000 }, (_, n) => `${n} ${'x'.repeat(40)}`))],
    [step(Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`key${n}`, n])))],
  ])
    expect(await cleaned(events)).toBe(events)
})

test('a secret in a long text, beside one, and in the name of a field becomes a mark', async () => {
  const long = 'y '.repeat(100_000)
  const [message, result] = await cleaned([
    sent('ses_a', 'turn_a', { text: `${long}${shaped} ${known}${long}` }),
    step({ [`for ${shaped}`]: 'x', list: [long, `use ${known}`], password: 'hunter2hunter2' }),
  ])
  expect(message).toMatchObject({ text: `${long}[redacted] [redacted]${long}` })
  expect(result).toMatchObject({
    output: { 'for [redacted]': 'x', list: [long, 'use [redacted]'], password: '[redacted]' },
  })
})

test('2 MB of half keys are looked at while others run', async () => {
  const guard = secretGuard({ env })
  const events = [sent('ses_a', 'turn_a', { text: halfKeys(1_400_000) }), step(halfKeys(600_000))]
  let stall = Infinity
  for (let n = 0; n < 3; n += 1)
    stall = Math.min(
      stall,
      await longestStall(async () => {
        expect(guard.clean(events)).toBeUndefined()
        await guard.inspect(events)
      }),
    )
  expect(stall).toBeLessThan(50)
})

const inputs: Readonly<Record<string, Json>> = {
  'half keys': halfKeys(900_000),
  'a wide object': Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`key${n}`, n])),
}

const options: OpenLineOptions = {
  agents: {
    clerk: { description: 'files', script: () => 'filed' },
    worker: {
      tools: ['sub_agent'],
      allowSubAgentCalls: true,
      script: async (turn) => {
        const { ok } = await turn.tool('sub_agent', {
          agent_name: 'clerk',
          task: 'x',
          input: inputs[turn.task] ?? null,
          max_context_tokens: 1_000_000,
        })
        return String(ok)
      },
    },
  },
}

test.each(Object.keys(inputs))('a call with 1 MB of %s holds nobody up', async (kind) => {
  const line = await openLine(options)
  // The first call loads the table of tokens.
  await line.run('worker', kind)
  let stall = Infinity
  // The collector of the engine stops everything now and then, whatever runs.
  for (let n = 0; n < 3; n += 1)
    stall = Math.min(
      stall,
      await longestStall(async () => expect((await line.run('worker', kind)).output).toBe('true')),
    )
  await line.close()
  expect(stall).toBeLessThan(60)
})
