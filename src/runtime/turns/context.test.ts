import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { valueOf, world, type World } from '../../../test/kits/world.ts'
import type { ScriptedFunction, ScriptedTurn } from '../../adapters/scripted/run-function.ts'

const told = (turn: ScriptedTurn): string =>
  JSON.stringify({
    system: turn.system,
    history: turn.history.map(({ role, text, from, steps }) => ({ role, text, from, steps })),
    prompt: turn.prompt,
  })

/** The boss answers everything, and on `call {…}` calls the child with that context. */
const boss: ScriptedFunction = async (turn) => {
  if (!turn.task.startsWith('call ')) return `answer to ${turn.task}`
  return String(
    valueOf(
      await turn.tool('sub_agent', { agent_name: 'child', task: 'look', ...JSON.parse(turn.task.slice(5)) }),
    )['output'],
  )
}

type Seen = {
  system: string
  history: { role: string; text: string; from: string | null; steps: string | null }[]
  prompt: string
}

async function conversation(
  turns: string[],
  more: { cwd?: string } = {},
): Promise<{
  w: World
  ask: (input: object) => Promise<Seen>
  raw: (input: object) => Promise<string>
  session: `ses_${string}`
}> {
  const w = await world({
    agents: {
      boss: { prompt: 'You are the boss.', script: boss },
      child: { prompt: 'You are the child.', tools: [], script: told },
    },
  })
  let session: `ses_${string}` | undefined
  for (const task of turns)
    session = (await w.run('boss', task, session === undefined ? more : { session }))
      .session as `ses_${string}`
  const raw = async (input: object): Promise<string> =>
    (await w.run('boss', `call ${JSON.stringify(input)}`, session === undefined ? more : { session })).output
  return {
    w,
    raw,
    ask: async (input) => JSON.parse(await raw(input)) as Seen,
    session: session as `ses_${string}`,
  }
}

test('without a filter no message passes, and roles: ["system"] never means the prompt of the caller', async () => {
  const { ask } = await conversation(['alpha', 'beta'])
  expect((await ask({})).history).toEqual([])
  const seen = await ask({ context: { roles: ['system'] } })
  expect(seen.history).toEqual([])
  expect(seen.system).toBe('You are the child.')
})

test('last_messages, roles, keywords and age filter in order, and the present request is the newest', async () => {
  const { ask, w } = await conversation(['alpha', 'beta', 'gamma'])
  const present = (input: object): string => `call ${JSON.stringify(input)}`
  const two = { context: { last_messages: 2 } }
  expect((await ask(two)).history.map(({ text }) => text)).toEqual(['answer to gamma', present(two)])
  const { ask: again } = await conversation(['alpha', 'beta', 'gamma'])
  const users = { context: { roles: ['user'] } }
  expect((await again(users)).history.map(({ text }) => text)).toEqual([
    'alpha',
    'beta',
    'gamma',
    present(users),
  ])
  const { ask: third } = await conversation(['Alpha', 'beta', 'ALPHABET'])
  expect(
    (await third({ context: { keywords: ['alphabet'], roles: ['user'], last_messages: 2 } })).history.map(
      ({ text }) => text.slice(0, 8),
    ),
  ).toEqual(['ALPHABET', 'call {"c'])
  const old = await conversation(['ancient'])
  await old.w.pass(100_000)
  await old.w.run('boss', 'recent', { session: old.session })
  const young = { context: { max_age_seconds: 60 } }
  expect((await old.ask(young)).history.map(({ text }) => text)).toEqual([
    'recent',
    'answer to recent',
    present(young),
  ])
  void w
})

test('R8: steps of the caller pass only when roles ask for tool, and never a result without its call', async () => {
  const { ask } = await conversation(['alpha'])
  await ask({ context: { last_messages: 2 } })
  expect((await ask({ context: { last_messages: 2 } })).history.every(({ steps }) => steps === null)).toBe(
    true,
  )
  const seen = await ask({ context: { roles: ['assistant', 'tool'], last_messages: 1 } })
  expect(seen.history[0]?.steps).toMatch(/^sub_agent\(child: look\) -> completed: /)
  expect(seen.history[0]?.text).not.toBe('')
  expect((await ask({ context: { roles: ['tool'], last_messages: 1 } })).history[0]).toMatchObject({
    text: '',
    steps: expect.stringContaining('sub_agent(child: look)'),
  })
})

test('R8: messages are dropped whole, oldest first, within the token budget, and the manifest says so', async () => {
  const { w, ask } = await conversation(['one '.repeat(300), 'two '.repeat(300), 'three '.repeat(300)])
  const seen = await ask({ context: { roles: ['user'] }, max_context_tokens: 700 })
  expect(seen.history.map(({ text }) => text.slice(0, 5))).toEqual(['two t', 'three', 'call '])
  const manifest = (await w.events('call.opened')).at(-1)?.event.context
  expect(manifest?.tokens).toBeLessThanOrEqual(700)
  expect(manifest?.messages).toMatchObject({ total: 6, passed: [3, 5] })
  const dropped = Object.values(manifest?.messages?.dropped ?? {}).reduce((sum, count) => sum + count, 0)
  expect(dropped).toBe(4)
})

test('a context over its budget without any message is refused with the numbers, and zero is zero', async () => {
  const { w, raw } = await conversation([])
  await raw({ max_context_tokens: 5 })
  await raw({ max_context_tokens: 0 })
  const [five, zero] = await w.events('call.refused')
  expect(five?.event.refusal).toMatchObject({ code: 'context_too_large', tokensMax: 5, parts: { prompt: 5 } })
  expect(zero?.event.refusal).toMatchObject({ code: 'context_too_large', tokensMax: 0 })
})

test('a summary that is asked for reaches the child, and is written once for the same history', async () => {
  const { w, ask } = await conversation(['The parser fails on empty input. More words.', 'Use a table.'])
  const seen = await ask({ context: { include_summary: true } })
  expect(seen.system).toContain('You are the child.')
  expect(seen.system).toContain('[Conversation summary]\nuser: The parser fails on empty input.')
  expect((await w.events('step.ended')).filter(({ event }) => event.kind === 'summary').length).toBe(1)
})

test('the workspace is added to the prompt of the child, which is kept; paths outside are refused', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'tieline-'))
  writeFileSync(join(cwd, 'package.json'), '{"name":"zebra"}')
  symlinkSync('/etc', join(cwd, 'outside'))
  const { w, ask, raw } = await conversation([], { cwd })
  const seen = await ask({
    context: { include_workspace: true, workspace_files: ['package.json', 'gone.ts'] },
  })
  expect(seen.system).toMatch(/^You are the child\.\n\n<\d{3}>\nWorking directory: /)
  expect(seen.system).toContain('package.json')
  expect(seen.system).toMatch(/gone\.ts.*missing/)
  expect(seen.system).toContain('Project: zebra')
  for (const path of ['../secret', '/etc/passwd', 'outside/passwd'])
    await raw({ context: { include_workspace: true, workspace_files: [path] } })
  expect((await w.events('call.refused')).map(({ event }) => event.refusal.code)).toEqual([
    'bad_input',
    'bad_input',
    'bad_input',
  ])
})

test('input is given to the child under the task', async () => {
  const { ask } = await conversation([])
  expect((await ask({ input: { rows: [1, 2] } })).prompt).toMatch(
    /^<(\d{3})>\n\[Called by: boss\]\nTask: look\nInput: \{"rows":\[1,2\]\}\n<\/\1>$/,
  )
})

test('a forbidden call costs nothing: no summary is written for it', async () => {
  const w = await world({
    agents: {
      a: {
        mayCall: ['nobody'],
        script: async (turn) =>
          turn.task === 'hi'
            ? 'ho'
            : JSON.stringify(
                (
                  await turn.tool('sub_agent', {
                    agent_name: 'b',
                    task: 'x',
                    context: { include_summary: true },
                  })
                ).value,
              ),
      },
      b: {},
    },
  })
  const { session } = await w.run('a', 'hi')
  await w.run('a', 'go', { session: session as `ses_${string}` })
  expect((await w.events('step.ended')).filter(({ event }) => event.kind === 'summary')).toEqual([])
  expect((await w.events('call.refused'))[0]?.event.refusal.code).toBe('not_allowed')
})

test('max_context_tokens was exceeded by the note about left-out messages', async () => {
  const { w, ask } = await conversation(['alpha', 'beta'])
  const tokensMax = 40
  for (let extra = 0; extra < 12; extra += 1) {
    const seen = await ask({ context: { roles: ['assistant'] }, max_context_tokens: tokensMax + extra })
    const note = seen.history[0]?.role === 'assistant' ? '[Earlier messages are left out.]' : ''
    const sent = [seen.system, seen.prompt, note, ...seen.history.map(({ text }) => text)]
    const tokens = sent.reduce((sum, text) => sum + w.node.runtime.count(text), 0)
    expect(tokens).toBeLessThanOrEqual(tokensMax + extra)
  }
})

test('with max_context_tokens 0 the summary was paid for before the refusal', async () => {
  const { w, raw } = await conversation(['alpha'])
  await raw({ context: { include_summary: true }, max_context_tokens: 0 })
  expect((await w.events('call.refused'))[0]?.event.refusal.code).toBe('context_too_large')
  expect((await w.events('step.ended')).filter(({ event }) => event.kind === 'summary')).toEqual([])
})

test('in the first turn of a session last_messages passed nothing, not even what the user asks now', async () => {
  const { w, ask } = await conversation([])
  const input = { context: { last_messages: 1 } }
  expect((await ask(input)).history).toMatchObject([
    { role: 'user', text: `call ${JSON.stringify(input)}`, from: null },
  ])
  const manifest = (await w.events('call.opened')).at(-1)?.event.context
  expect(manifest?.messages).toMatchObject({ passed: [], present: expect.stringMatching(/^turn_/) as string })
  const none = await ask({ context: { last_messages: 0 } })
  expect(none.history).toEqual([])
})

test('keywords with roles: ["tool"] looked at text that is not passed', async () => {
  const { ask } = await conversation(['alpha'])
  await ask({ task: 'count the zebras' })
  const seen = await ask({ context: { roles: ['tool'], keywords: ['zebras'] } })
  expect(seen.history).toMatchObject([{ text: '', steps: expect.stringContaining('zebras') as string }])
  // What the assistant said has the word too, and is not passed.
  expect((await ask({ context: { roles: ['tool'], keywords: ['You are the child'] } })).history.length).toBe(
    2,
  )
  expect((await ask({ context: { roles: ['tool'], keywords: ['unheard of'] } })).history).toMatchObject([])
})
