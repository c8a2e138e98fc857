import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import {
  callEnded,
  created,
  ended,
  opened,
  refused,
  said,
  sent,
  started,
  stepped,
} from '../../../test/kits/store.ts'
import { flowOf, replayed } from '../../../test/kits/replay.ts'
import { virtualClock, world, type World } from '../../../test/kits/world.ts'
import { Event, type EventOf } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { viewsEqual } from '../../store/rebuild.ts'
import { sqliteStore, type SqliteStore } from '../../store/sqlite.ts'
import type { Driver, Tool } from './ports.ts'
import { createRedactor } from './redact.ts'
import { ownFields, secretGuard } from './secret-guard.ts'
import { send } from '../mail/send.ts'

const shaped = `sk-${'a1B2'.repeat(6)}`
const ofVariable = 'correct-horse-9'
const named = 'hunter2hunter2'
const env = { SERVICE_TOKEN: ofVariable, HOME: '/home/me' }

const step = (output: Json, input: Json = null): EventOf<'step.ended'> => ({
  ...stepped('ses_a', 'turn_a', null, 'tool'),
  input,
  output,
})
const cleaned = (events: readonly Event[]): readonly Event[] => secretGuard({ env }).clean(events) ?? events

describe('before events are written', () => {
  test('those without a secret are handed on as they are', () => {
    expect(
      secretGuard({ env }).clean([
        created('ses_a'),
        sent('ses_a', 'turn_a', { text: 'basic knowledge of tokens' }),
        started('ses_a', 'turn_a'),
        step({ tokens: 7, keyboard: 'qwertz', monkey: 'george' }),
      ]),
    ).toBeNull()
  })

  test('a secret becomes a mark: by value, by shape, by the name of its field; one secret, one mark', () => {
    const [message, result] = cleaned([
      sent('ses_a', 'turn_a', { text: `use ${ofVariable} and ${shaped}` }),
      step({ text: shaped, password: named }, { header: `X: ${ofVariable}` }),
    ])
    expect(message).toMatchObject({ text: expect.stringMatching(/^use \[redacted\] and \[redacted\]$/) })
    const [, first, second] = /use (\S+) and (\S+)/.exec((message as EventOf<'message.sent'>).text) ?? []
    expect(result).toMatchObject({
      output: { text: second, password: expect.stringMatching(/^\[redacted\]$/) },
      input: { header: `X: ${first}` },
    })
  })

  test('ids, places and names are never touched; events that have none are the same objects', () => {
    const guard = secretGuard({ env: { MY_TOKEN: 'ses_a-and-more' } })
    const plain = started('ses_a', 'turn_a')
    const left = guard.clean([
      plain,
      { ...created('ses_a'), session: 'ses_a-and-more', cwd: '/tmp/ses_a-and-more' },
      step('ses_a-and-more'),
    ])
    expect(left?.[0]).toBe(plain)
    expect(left?.[1]).toMatchObject({ session: 'ses_a-and-more', cwd: '/tmp/ses_a-and-more' })
    expect(left?.[2]).toMatchObject({ output: '[redacted]' })
  })

  test('the hash of a task is that of what is left of it: the task cannot be found by trying', () => {
    const call = {
      ...opened({ from: 'ses_a', in: 'turn_a', call: 'call_1', to: 'ses_b' }),
      task: `use ${shaped}`,
      taskHash: 'old',
    }
    expect(cleaned([call])[0]).toMatchObject({
      task: 'use [redacted]',
      taskHash: expect.not.stringMatching(/^old$/),
    })
  })

  test('keys of providers are known whatever their variable is called', () => {
    const guard = secretGuard({ env: {}, values: ['plain-provider-key'] })
    expect(guard.clean([step('it is plain-provider-key')])?.[0]).toMatchObject({ output: 'it is [redacted]' })
  })

  test('a key that is the name of a field is found too', () => {
    expect(
      JSON.stringify(
        cleaned([step({ [shaped]: { [ofVariable]: 1 } }), step({ [`${ofVariable}${ofVariable}`]: 1 })]),
      ),
    ).not.toMatch(/sk-|correct-horse-9correct/)
  })

  test('whatever field it stands in', () => {
    const call = opened({ from: 'ses_a', in: 'turn_a', call: 'call_1', to: 'ses_b' })
    const last = { ...ended('ses_a', 'turn_a', 0, said(1, 'asked', 'answered')), error: 'no' }
    const one = [`it is ${shaped}`, { password: 'x1' }, [{ deep: [shaped] }]]
    for (const value of one)
      for (const name of ['input', 'requested', 'outputSchema'])
        expect(secretGuard({ env }).clean([{ ...call, [name]: value }])).not.toBeNull()
    for (const value of one)
      for (const name of ['input', 'output'])
        expect(secretGuard({ env }).clean([{ ...step(null), [name]: value }])).not.toBeNull()
    const texts: Event[] = [
      { ...call, task: shaped },
      { ...call, attachment: shaped },
      { ...call, context: { ...call.context, summary: shaped } },
      { ...call, context: { ...call.context, workspace: shaped } },
      { ...last, output: shaped },
      { ...last, error: shaped },
      { ...last, entry: said(1, shaped, 'b') },
      { ...last, entry: said(1, 'a', shaped) },
      { ...last, entry: said(1, 'a', 'b', { from: shaped }) },
      { ...callEnded('ses_a', 'turn_a', 'call_1', 'ses_b'), output: shaped },
      { ...callEnded('ses_a', 'turn_a', 'call_1', 'ses_b'), errors: [shaped] },
      { ...callEnded('ses_a', 'turn_a', 'call_1', 'ses_b'), cause: shaped },
      sent('ses_a', 'turn_a', { text: shaped }),
      { ...created('ses_a'), title: shaped },
      { ...refused('ses_a', 'turn_a', 'call_1'), task: shaped },
      { type: 'notice.raised', session: 'ses_a', turn: null, about: 'x', text: shaped },
      {
        type: 'question.asked',
        session: 'ses_a',
        turn: 'turn_a',
        question: 'q',
        key: 'k',
        agent: 'a',
        tool: 't',
        input: { token: 'x' },
        path: [],
        flow: 'flow_1',
        deadline: 1,
      },
    ]
    expect(texts.filter((event) => secretGuard({ env }).clean([event]) === null)).toEqual([])
    expect(
      texts.filter((event) => JSON.stringify(secretGuard({ env }).clean([event])).includes(shaped)),
    ).toEqual([])
  })

  test('every field with free text is in every event of its type, but for those found by name', () => {
    const optional = Event.options.flatMap((option) =>
      Object.entries(option.shape)
        .filter(([name, field]) => !ownFields.has(name) && field.safeParse(undefined).success)
        .map(([name]) => `${option.shape.type.value}.${name}`),
    )
    expect(optional.filter((name) => !name.endsWith('.notices') && name !== 'message.sent.use')).toEqual([])
    const letter: Event = {
      type: 'message.sent',
      session: 'ses_a',
      turn: 'turn_a',
      message: 'm',
      flow: 'flow_1',
      from: null,
      senderTurn: null,
      source: 'user',
      applet: null,
      inReplyTo: null,
      text: 'x',
      tokens: 1,
      deadline: null,
      trace: null,
      grant: {
        agent: 'a',
        depth: 0,
        subagentDepth: 0,
        path: [],
        authority: { tools: null, nested: true },
        tokensMax: null,
        maxIterations: 1,
      },
    }
    const guard = secretGuard({ env })
    expect(guard.clean([letter])).toBeNull()
    const asked = { tool: 'sub_agent', input: { task: shaped } }
    expect(JSON.stringify(guard.clean([{ ...letter, use: asked }]))).not.toContain(shaped)
    expect(
      JSON.stringify(
        guard.clean([{ ...letter, notices: { upTo: 1, texts: [{ about: 'ses_b', text: shaped }] } }]),
      ),
    ).not.toContain(shaped)
  })

  test('a secret that a model gives in place of an agent is masked in the refusal of its call', () => {
    const refused: Event = {
      type: 'call.refused',
      session: 'ses_a',
      turn: 'turn_a',
      call: 'call_a',
      key: 'k',
      tool: 'sub_agent',
      agent: shaped,
      task: 'x',
      taskHash: 'h',
      requested: null,
      refusal: { code: 'self_call', agent: 'a' },
    }
    expect(JSON.stringify(secretGuard({ env }).clean([refused]))).not.toContain(shaped)
    expect(JSON.stringify(createRedactor(env).redact(refused))).not.toContain(shaped)
  })

  test('what was cleaned once is clean', () => {
    const guard = secretGuard({ env })
    const once = guard.clean([
      step({ password: named, text: `${shaped} ${ofVariable}`, nested: `{"apiKey":"${named}"}` }),
    ])
    expect(guard.clean(once ?? [])).toBeNull()
  })
})

const made: string[] = []
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true })
})

function guardedWorld(
  agents: Parameters<typeof world>[0]['agents'],
  tools: readonly Tool[] = [],
): Promise<World & { bytes(): string; store: SqliteStore }> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-guard-'))
  made.push(directory)
  const clock = virtualClock()
  const guard = secretGuard({ env })
  const store = sqliteStore({ directory, now: () => clock.now(), clean: (events) => guard.clean(events) })
  /** Everything that is on disk: the database, its log, whatever else lies there. */
  const bytes = (): string =>
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
      .join('\n')
  return world({ agents, tools, store, clock }).then((w) => ({ ...w, bytes, store }))
}

const leaky: Tool = {
  name: 'leaky',
  effect: 'read',
  calling: false,
  describe: () => ({ name: 'leaky', description: 'reads', input: {} }),
  run: async () => ({ ok: true, value: { text: `SERVICE=${ofVariable}\nkey ${shaped}`, password: named } }),
}

test('a secret in a task, an answer or an output reaches neither the database nor its write-ahead log', async () => {
  let live: Json = null
  const w = await guardedWorld(
    {
      planner: {
        script: async (turn) => {
          live = (await turn.tool('leaky', {})).value
          await turn.think(`I have read ${shaped}`)
          await turn.tool('sub_agent', {
            agent_name: 'coder',
            task: `use ${shaped} and ${ofVariable}`,
            input: { password: named },
          })
          return `the key is ${ofVariable}`
        },
      },
      coder: {
        script: async (turn) => {
          await turn.think(turn.prompt)
          return `did it with ${shaped}`
        },
      },
    },
    [leaky],
  )
  const { output, success } = await w.run('planner', `my key is ${ofVariable}, and ${shaped}`)
  expect(success).toBe(true)
  const bytes = w.bytes()
  expect(bytes.length).toBeGreaterThan(10_000)
  for (const secret of [shaped, ofVariable, named]) expect(bytes.includes(secret)).toBe(false)
  expect(bytes).toMatch(/\[redacted\]/)
  // The test would notice: without the guard they are there.
  expect(bytes).toContain('my key is ')
  // What runs still works with the real thing; who is told about it is not told the secret.
  expect(JSON.stringify(live)).toContain(shaped)
  expect(output).toMatch(/^the key is \[redacted\]$/)
  await w.store.close()
  expect(w.bytes()).not.toContain(ofVariable)
})

test('R10: the views are the fold of what was written', async () => {
  const w = await guardedWorld(
    {
      planner: {
        script: async (turn) => {
          await turn.tool('leaky', {})
          return `it is ${shaped}`
        },
      },
    },
    [leaky],
  )
  const first = await w.run('planner', `remember ${shaped}`)
  await w.run('planner', 'again', { session: first.session as `ses_${string}` })
  expect(viewsEqual(w.store.db)).toEqual({ equal: true, difference: null })
})

test('R10: runs are replayed as they were, with marks and without', async () => {
  const w = await guardedWorld(
    {
      planner: {
        script: async (turn) => {
          await turn.tool('leaky', {})
          await turn.think(turn.task)
          const { value } = await turn.tool('sub_agent', {
            agent_name: 'coder',
            task: `part of: ${turn.task}`,
          })
          return String((value as { output: string }).output)
        },
      },
      coder: {
        script: async (turn) => {
          await turn.think('hm')
          return `did ${turn.task}`
        },
      },
    },
    [leaky],
  )
  for (const task of ['no secret', `with ${shaped} and ${ofVariable}`]) {
    await w.run('planner', task)
    expect(await replayed(w, await flowOf(w))).toMatchObject({ equal: true })
  }
})

test('a message that is sent again with its id is the same message, although its secret is not on record', async () => {
  const w = await guardedWorld({ a: { script: () => 'ok' } })
  const { session } = await w.run('a', 'hello')
  const again = (text: string) =>
    w.until(send(w.node.runtime, { to: { session: session as `ses_${string}` }, text, id: 'mine-1' }))
  const first = await again(`use ${shaped}`)
  await w.pass(100)
  expect(await again(`use ${shaped}`)).toMatchObject({ message: (first as { message: string }).message })
  expect(await again('something else entirely')).toMatchObject({ code: 'message_already_sent' })
})

/**
 * Two answers with a write between them, a call, and a wait that the test ends: everything holds a secret.
 */
const secretive = (asked: string[], gate: () => Promise<void>): Driver => ({
  async run(turn, steps) {
    const ask = (text: string) =>
      steps.step('model', 'm', { text }, async () => {
        asked.push(text)
        return { value: { text: `${text}, said ${shaped}` }, usage: null }
      })
    const { text } = (await ask(turn.prompt)) as { text: string }
    await steps.tool('count', { n: text })
    await steps.tool('count', { n: 'plain' })
    await steps.tool('sub_agent', { agent_name: 'helper', task: `help with ${text}` })
    await gate()
    await ask('last')
    return { outcome: 'completed', output: 'finished', error: null, iterations: 2 }
  },
})

test('R10: a turn whose record has marks is taken up again without repeating a model, a write or a call', async () => {
  const asked: string[] = []
  const effects: string[] = []
  let open = false
  const count: Tool = {
    name: 'count',
    effect: 'write',
    calling: false,
    describe: () => ({ name: 'count', description: 'counts', input: {} }),
    run: async (input) => {
      effects.push(JSON.stringify(input))
      return { ok: true, value: 1 }
    },
  }
  const w = await guardedWorld(
    {
      a: {
        driver: secretive(asked, async () => {
          if (!open) await new Promise(() => undefined)
        }),
      },
      helper: { script: () => 'helped' },
    },
    [count],
  )
  void w.ask('a', `begin with ${shaped}`)
  await w.pass(100)
  expect([asked.length, effects.length, (await w.events('call.ended')).length]).toEqual([1, 2, 1])
  // The node dies: it hears, says and does nothing more.
  const { runtime } = w.node
  runtime.stopping.abort(new Error('killed'))
  runtime.alarm.stop()
  for (const running of runtime.running.values()) running.abort.abort(new Error('killed'))
  runtime.running.clear()
  open = true
  await w.addNode()
  await w.pass(20_000)
  expect(asked.slice(1)).toEqual(['last'])
  expect(effects.length).toBe(2)
  expect((await w.events('call.opened')).length).toBe(1)
  expect(
    (await w.events('turn.ended'))
      .filter(({ event }) => event.output === 'finished')
      .map(({ event }) => event.outcome),
  ).toEqual(['completed'])
})

const peersText = (session: string): string =>
  `it is ${session}; the build is a1b2c3d4e5f6g7h8, ask tom at hunter2hunter2`

test('what one agent calls a password changes nothing that others wrote, also after a restart', async () => {
  const heard: string[] = []
  const w = await guardedWorld({
    b: {
      script: (turn) => {
        heard.push(turn.prompt)
        return `heard: ${turn.task}`
      },
    },
    a: { script: (turn) => turn.task },
  })
  const { session } = await w.run('b', 'hello')
  const text = peersText(session ?? '')
  const lookAlikes = [
    { password: session, token: 'a1b2c3d4e5f6g7h8', secret: named },
    `password: "${session}" token: "a1b2c3d4e5f6g7h8"`,
    `DB_PASSWORD=${named} API_KEY=a1b2c3d4e5f6g7h8 SESSION_TOKEN=${session}`,
    `{"secret":"${named}","password":"${session}","apiKey":"a1b2c3d4e5f6g7h8"}`,
    `x://me:${named}@host Bearer a1b2c3d4e5f6g7h8`,
  ].map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
  for (const one of lookAlikes) await w.run('a', one)
  const sentTo = (of: World) =>
    of
      .events('message.sent')
      .then((all) => all.filter(({ event }) => event.session === session).map(({ event }) => event.text))
  await w.run('b', text, { session: session as `ses_${string}` })
  expect(await sentTo(w)).toEqual(['hello', text])
  expect(heard.at(-1)).toContain(text)
  const rows = (store: SqliteStore): unknown[] => store.db.prepare('select * from log order by 1').all()
  const before = JSON.stringify(rows(w.store))
  expect(before).toContain('[redacted]')
  await w.store.close()
  const guard = secretGuard({ env })
  const again = sqliteStore({
    directory: made.at(-1) ?? '',
    now: () => w.clock.now(),
    clean: (events) => guard.clean(events),
  })
  expect(JSON.stringify(rows(again))).toBe(before)
  expect(viewsEqual(again.db)).toEqual({ equal: true, difference: null })
  // The same text is written as the same bytes by a server that has seen nothing else.
  expect(guard.clean([sent('ses_b', 'turn_b', { text })])).toBeNull()
  await again.close()
})

const note: Tool = {
  ...leaky,
  name: 'note',
  effect: 'write',
  describe: () => ({ name: 'note', description: 'notes', input: {} }),
  run: async () => ({ ok: true, value: 'noted' }),
}

test('R10: what a script takes from a named field and uses elsewhere is found again by a replay', async () => {
  const w = await guardedWorld(
    {
      a: {
        script: async (turn) => {
          const { value } = await turn.tool('leaky', {})
          await turn.tool('note', { text: `log in with ${(value as { password: string }).password}` })
          await turn.tool('sub_agent', {
            agent_name: 'b',
            task: `use ${(value as { password: string }).password}`,
          })
          return 'done'
        },
      },
      b: { script: () => 'ok' },
    },
    [leaky, note],
  )
  await w.run('a', 'go')
  expect((await w.events('step.ended')).map(({ event }) => JSON.stringify(event)).join()).toContain(
    `log in with ${named}`,
  )
  expect(await replayed(w, await flowOf(w))).toMatchObject({ equal: true })
})
