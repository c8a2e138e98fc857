/** A replay of a log that somebody changed shows the first difference. */
import { describe, expect, test } from 'vitest'
import { flowOf, replayed, tampered } from '../../../test/kits/replay.ts'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import { renderDifference } from '../../cli/commands/replay.ts'
import type { Event } from '../../model/event.ts'
import { counting, call } from '../../../test/kits/busy-night.ts'

const change = <T extends Event['type']>(
  type: T,
  nth: number,
  edit: (event: Extract<Event, { type: T }>) => Event[],
) => {
  let seen = 0
  return (events: Event[]): Event[] =>
    events.flatMap((event) =>
      event.type === type && seen++ === nth ? edit(event as Extract<Event, { type: T }>) : [event],
    )
}

describe('a log that was tampered with shows its first difference with both sides', () => {
  const recorded = async (): Promise<World> => {
    const w = await world({
      agents: {
        a: {
          script: async (turn) => {
            const x = await turn.think('one')
            const y = await turn.tool('sub_agent', call('b', 'part', { max_context_tokens: 500 }))
            return turn.think(`${x} ${String(valueOf(y)['output'])}`)
          },
        },
        b: { script: async (turn) => JSON.stringify((await turn.tool('look', { n: 1 })).value) },
      },
      tools: [counting('look', 'read', [])],
    })
    await w.run('a', 'go')
    expect((await replayed(w, await flowOf(w))).equal).toBe(true)
    return w
  }
  const difference = async (edit: (events: Event[]) => Event[]) => {
    const w = await recorded()
    const { equal, difference: found } = await replayed(w, await flowOf(w), await tampered(w, edit))
    expect(equal).toBe(false)
    return found
  }

  test('a changed field of an event is shown at the field, not as two long lines', async () => {
    const found = await difference(
      change('call.opened', 0, (event) => [
        { ...event, context: { ...event.context, tokensMax: 501 }, task: event.task },
      ]),
    )
    expect(found?.fields).toEqual([{ field: 'context.tokensMax', recorded: '501', replayed: '500' }])
    const shown = renderDifference(found as NonNullable<typeof found>)
    expect(shown.slice(1, 4)).toEqual(['  context.tokensMax', '    recorded: 501', '    replayed: 500'])
    expect(shown.every((line) => line.length < 250)).toBe(true)
  })

  test('a changed answer of a step', async () => {
    expect(
      await difference(
        change('step.ended', 0, (event) => [
          { ...event, output: { text: 'uno', toolCalls: [], finish: 'stop' } },
        ]),
      ),
    ).toMatchObject({
      agent: 'a',
      why: 'the turn asked for something else than what was recorded next',
      recorded: expect.stringContaining('one {'),
      replayed: expect.stringContaining('uno {'),
    })
  })

  test('a changed answer of a tool', async () => {
    expect(
      await difference(change('step.ended', 1, (event) => [{ ...event, output: { done: 7 } }])),
    ).toMatchObject({
      agent: 'b',
      why: 'call.ended is not what it was',
      recorded: expect.stringContaining('\\"done\\":1'),
      replayed: expect.stringContaining('\\"done\\":7'),
    })
  })

  test('a missing step', async () => {
    expect(await difference(change('step.ended', 1, () => []))).toMatchObject({
      agent: 'b',
      why: 'the turn asked for an effect that is not in its record',
      recorded: expect.stringContaining('turn.ended'),
      replayed: '{"asks":"tool","input":{"n":1},"name":"look"}',
    })
  })

  test('a step that never was', async () => {
    expect(
      await difference(
        change('step.ended', 0, (event) => [event, { ...event, key: 'planted', output: 'planted' }]),
      ),
    ).toMatchObject({
      agent: 'a',
      recorded: expect.stringContaining('planted'),
      replayed: expect.stringContaining('call.opened'),
    })
  })

  test('another order', async () => {
    const w = await recorded()
    const steps = (await w.events('step.ended'))
      .filter(({ event }) => event.kind === 'model')
      .map(({ event }) => event)
    const swapped = await tampered(w, (events) =>
      events.map((event) =>
        event.type === 'step.ended' && event.kind === 'model'
          ? (steps.find((step) => step.key !== event.key) ?? event)
          : event,
      ),
    )
    expect((await replayed(w, await flowOf(w), swapped)).difference).toMatchObject({
      agent: 'a',
      why: 'the turn asked for something else than what was recorded next',
      recorded: expect.stringContaining('one {'),
      replayed: expect.stringContaining('"text":"one"'),
    })
  })

  test('more authority than the caller had', async () => {
    expect(
      await difference(
        change('call.opened', 0, (event) => [{ ...event, grant: { ...event.grant, depth: 0 } }]),
      ),
    ).toMatchObject({
      why: 'call.opened is not what it was',
      recorded: expect.stringContaining('"depth":0'),
      replayed: expect.stringContaining('"depth":1'),
    })
  })

  test('another task', async () => {
    expect(
      await difference(change('call.opened', 0, (event) => [{ ...event, task: 'another' }])),
    ).toMatchObject({ why: 'call.opened is not what it was', recorded: expect.stringContaining('another') })
  })

  test('another end', async () => {
    expect(
      await difference(change('turn.ended', 1, (event) => [{ ...event, tokensUsed: event.tokensUsed + 1 }])),
    ).toMatchObject({ agent: 'a', why: 'turn.ended is not what it was' })
  })
})
