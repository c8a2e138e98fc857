import { describe, expect, test } from 'vitest'
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
import { Event, type EventOf } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { createRedactor } from './redact.ts'
import { ownFields, secretGuard } from './secret-guard.ts'
import { shaped, ofVariable, named, env } from '../../../test/kits/guarded-world.ts'

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
      { ...callEnded('ses_a', 'turn_a', 'call_1', 'ses_b'), moved: { from: 'a', to: 'b', why: shaped } },
      { ...last, moved: { from: 'a', to: 'b', why: shaped } },
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
    // How far an answer reaches is one of a few words, and money is numbers.
    const found = [
      'turn.ended.spent',
      'turn.ended.spentBelow',
      'turn.ended.moved',
      'call.ended.moved',
      'call.ended.spent',
      'message.sent.use',
      'call.opened.notes',
      'question.answered.reason',
      'question.answered.scope',
    ]
    expect(optional.filter((name) => !name.endsWith('.notices') && !found.includes(name))).toEqual([])
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
    const answered: Event = {
      type: 'question.answered',
      session: 'ses_a',
      turn: 'turn_a',
      question: 'q',
      answer: 'deny',
      by: 'user',
    }
    expect(guard.clean([answered])).toBeNull()
    expect(JSON.stringify(guard.clean([{ ...answered, reason: shaped }]))).not.toContain(shaped)
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
