import { expect, test } from 'vitest'
import { valueOf, virtualClock, world, type World } from '../../../test/kits/world.ts'
import type { Entry } from '../../model/context.ts'
import type { Json } from '../../model/json.ts'
import type { ScriptedFunction, ScriptedTurn } from '../../adapters/scripted/run-function.ts'

const shown = (turn: ScriptedTurn): string =>
  JSON.stringify(turn.history.map(({ text, steps }) => ({ text, steps })))

type Shown = { text: string; steps: string | null }[]

const callWith = async (turn: ScriptedTurn, context: Json): Promise<string> =>
  String(valueOf(await turn.tool('sub_agent', { agent_name: 'child', task: 'look', context }))['output'])

const child = { tools: [], script: shown }

test('the age of the message that is being worked on counts in seconds', async () => {
  const clock = virtualClock()
  const script: ScriptedFunction = async (turn) => {
    const seen: Json[] = []
    for (const ms of [30_000, 90_000]) {
      await clock.sleep(ms, turn.signal)
      seen.push(await callWith(turn, { max_age_seconds: 60 }))
    }
    return JSON.stringify(seen)
  }
  const w = await world({ agents: { boss: { script }, child }, clock })
  const [young, old] = JSON.parse((await w.run('boss', 'go')).output) as string[]
  expect((JSON.parse(young ?? '') as Shown).map(({ text }) => text)).toEqual(['go'])
  expect(JSON.parse(old ?? '')).toEqual([])
})

test('only tools and calls of a turn are its steps, and not what its model said in between', async () => {
  const script: ScriptedFunction = async (turn) => {
    if (turn.task === 'show') return callWith(turn, { roles: ['tool'], last_messages: 1 })
    await turn.think('I look for somebody.')
    await turn.tool('sub_agent', { agent_name: 'child', task: 'help' })
    return turn.think('I have found somebody.')
  }
  const w = await world({ agents: { boss: { script }, child } })
  const { session } = await w.run('boss', 'begin')
  const { output } = await w.run('boss', 'show', { session: session as `ses_${string}` })
  expect(JSON.parse(output)).toEqual([{ text: '', steps: 'sub_agent(child: help) -> completed: []' }])
})

async function summarised(): Promise<{ w: World; written: [string | null, number[]][] }> {
  const written: [string | null, number[]][] = []
  const summarise = async (_agent: unknown, previous: string | null, entries: readonly Entry[]) => {
    written.push([previous, entries.map(({ n }) => n)])
    return { text: `summary ${written.length}`, usage: { input: 1, output: 1, estimated: false } }
  }
  const script: ScriptedFunction = (turn) =>
    turn.task === 'hello' ? 'hello' : callWith(turn, { include_summary: true })
  return { w: await world({ agents: { boss: { script }, child }, summarise }), written }
}

test('a summary is written anew when the conversation has gone on, from what came since', async () => {
  const { w, written } = await summarised()
  const { session } = await w.run('boss', 'hello')
  for (const task of ['call', 'call']) await w.run('boss', task, { session: session as `ses_${string}` })
  expect(written).toEqual([
    [null, [1, 2]],
    ['summary 1', [3, 4]],
  ])
})
