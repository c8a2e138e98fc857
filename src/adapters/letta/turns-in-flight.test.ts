import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../../test/kits/world.ts'
import { turnsInFlight } from './turns-in-flight.ts'

const graceMs = 10_000
const rest = async (): Promise<void> => {
  for (let hop = 0; hop < 5; hop += 1) await new Promise<void>((resolve) => setImmediate(resolve))
}

function setUp() {
  const clock = virtualClock()
  const flights = turnsInFlight<string, string>(clock, graceMs)
  const turns: {
    signal: AbortSignal
    emit: (piece: string) => void
    end: (answer: string) => void
    fail: (fault: Error) => void
  }[] = []
  const attach = (key: string) =>
    flights.attach(key, (signal, emit) => new Promise((end, fail) => turns.push({ signal, emit, end, fail })))
  const pass = async (ms: number): Promise<void> => {
    let over = false
    void clock.sleep(ms).then(() => (over = true))
    while (!over) {
      clock.tick()
      await rest()
    }
  }
  return { clock, flights, turns, attach, pass }
}

describe('turns in flight', () => {
  it('F1: the same key attaches to the same turn and gets the same answer', async () => {
    const { turns, attach } = setUp()
    const first = attach('a')
    const second = attach('a')
    const other = attach('b')
    expect(turns).toHaveLength(2)
    turns[0]?.end('one')
    turns[1]?.end('two')
    expect(await Promise.all([first.answer, second.answer, other.answer])).toEqual(['one', 'one', 'two'])
  })

  it('F1: whoever attaches later is shown what came before, and nobody is told after leaving', async () => {
    const { turns, attach } = setUp()
    const seen: string[][] = [[], []]
    const first = attach('a')
    first.watch((piece) => seen[0]?.push(piece))
    turns[0]?.emit('x')
    attach('a').watch((piece) => seen[1]?.push(piece))
    turns[0]?.emit('y')
    first.leave(false)
    turns[0]?.emit('z')
    expect(seen).toEqual([
      ['x', 'y'],
      ['x', 'y', 'z'],
    ])
  })

  it('F2: a turn is cancelled when nobody was attached for the whole time, and not before', async () => {
    const { turns, attach, pass, flights } = setUp()
    attach('a').leave(false)
    await pass(graceMs - 1)
    expect(turns[0]?.signal.aborted).toBe(false)
    await pass(1)
    expect(turns[0]?.signal.aborted).toBe(true)
    expect(flights.size()).toBe(0)
    attach('a')
    expect(turns).toHaveLength(2)
  })

  it('F2: whoever attaches meanwhile keeps it, and the time begins anew when they leave', async () => {
    const { turns, attach, pass } = setUp()
    attach('a').leave(false)
    await pass(graceMs - 1)
    const back = attach('a')
    await pass(10 * graceMs)
    expect(turns).toHaveLength(1)
    expect(turns[0]?.signal.aborted).toBe(false)
    back.leave(false)
    back.leave(false)
    await pass(graceMs - 1)
    expect(turns[0]?.signal.aborted).toBe(false)
    await pass(1)
    expect(turns[0]?.signal.aborted).toBe(true)
  })

  it('F2: one of two that leaves cancels nothing', async () => {
    const { turns, attach, pass } = setUp()
    const first = attach('a')
    attach('a')
    first.leave(false)
    first.leave(false)
    await pass(2 * graceMs)
    expect(turns[0]?.signal.aborted).toBe(false)
  })
})

describe('answers of turns in flight', () => {
  it('F3: an answer that reached nobody is found by a retry', async () => {
    const { turns, attach, pass } = setUp()
    attach('a').leave(false)
    turns[0]?.end('late')
    await pass(graceMs - 1)
    expect(await attach('a').answer).toBe('late')
    expect(turns).toHaveLength(1)
  })

  it('F3: an answer that reached somebody is forgotten, so that the same words are a new request', async () => {
    const { turns, attach, flights } = setUp()
    const first = attach('a')
    const second = attach('a')
    turns[0]?.end('one')
    await first.answer
    first.leave(true)
    expect(flights.size()).toBe(0)
    attach('a')
    expect(turns).toHaveLength(2)
    second.leave(false)
    expect(flights.size()).toBe(1)
  })

  it("a fault reaches everybody who is attached, and is nobody else's", async () => {
    const { turns, attach } = setUp()
    const places = [attach('a'), attach('a')]
    turns[0]?.fail(new Error('broken'))
    for (const place of places) await expect(place.answer).rejects.toThrow('broken')
    attach('b').leave(false)
    turns[1]?.fail(new Error('unseen'))
    await rest()
  })

  it('closing ends the waiting and cancels nothing', async () => {
    const { turns, attach, flights, clock } = setUp()
    const held = attach('a')
    attach('b').leave(false)
    flights.close()
    held.leave(false)
    await rest()
    expect(clock.tick()).toBe(false)
    expect(turns.map(({ signal }) => signal.aborted)).toEqual([false, false])
  })
})
