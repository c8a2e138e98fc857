import { expect, test } from 'vitest'
import { Event, type EventType } from '../../model/event.ts'
import { renderEvent, trackNames } from './event-lines.ts'

const at = Date.UTC(2026, 0, 1, 12, 30, 5, 42)
const place = { session: 'ses_a', turn: 'turn_1' } as const
const line = (event: object, names = trackNames()): string => {
  names.learn(event as Event)
  return renderEvent({ seq: '1', at, sessionId: 'ses_a', event: event as Event }, names).replace(
    /^\d\d:\d\d:05\.042 {2}/,
    '',
  )
}

test('a line names the agent where it is known, and otherwise the session', () => {
  expect(line({ type: 'turn.started', ...place })).toBe('ses_a  begins')
  const names = trackNames()
  names.add('ses_a', 'Ada')
  expect(line({ type: 'turn.started', ...place }, names)).toBe('Ada  begins')
  expect(
    line(
      {
        type: 'message.sent',
        ...place,
        from: 'ses_a',
        source: 'agent',
        text: 'x',
        grant: { agent: 'agent_1' },
      },
      names,
    ),
  ).toBe('Ada  was told by Ada: x')
  expect(
    line(
      { type: 'call.opened', ...place, call: 'call_2', grant: { agent: 'coder' }, task: 'write\nit' },
      names,
    ),
  ).toBe('Ada  calls coder (call_2): write')
  expect(line({ type: 'turn.started', session: 'ses_b', turn: 'turn_2' }, names)).toBe('coder  begins')
})

test('text of agents is one line, cut, and cannot move the cursor', () => {
  const said = line({
    type: 'turn.ended',
    ...place,
    outcome: 'completed',
    tokensUsed: 1,
    tokensBelow: 2,
    output: `\u001b[2J${'🙂'.repeat(200)}\nmore`,
  })
  expect(said).toBe(`ses_a  is done (3 tokens): [2J${'🙂'.repeat(117)}…`)
})

test('ends that are no success say why', () => {
  expect(
    line({
      type: 'turn.ended',
      ...place,
      outcome: 'timed_out',
      error: 'timed_out: no answer within 5 s',
      tokensUsed: 0,
      tokensBelow: 0,
      output: '',
    }),
  ).toBe('ses_a  timed out: no answer within 5 s (0 tokens)')
  expect(
    line({
      type: 'call.refused',
      ...place,
      agent: 'ghost',
      refusal: { code: 'agent_unknown', agent: 'ghost', known: [] },
    }),
  ).toContain('may not call ghost: There is no agent "ghost".')
})

test('every kind of event has words, also one of a later version', () => {
  const full = {
    ...place,
    agent: 'a',
    title: 't',
    definition: { title: 't' },
    kind: 'persistent',
    cwd: '/',
    parent: null,
    cause: 'idle',
    node: 'node_1',
    from: null,
    source: 'user',
    text: 'x',
    grant: { agent: 'a' },
    outcome: 'completed',
    error: null,
    output: 'o',
    tokensUsed: 0,
    tokensBelow: 0,
    name: 'n',
    ok: true,
    usage: null,
    call: 'call_1',
    task: 't',
    refusal: { code: 'not_authenticated' },
    errors: [],
    openedAt: 0,
    endedAt: 0,
    target: 'ses_b',
    reason: 'r',
    tool: 't',
    question: 'q',
    answer: 'allow',
    by: 'user',
    messages: ['msg_1'],
    program: 'claude-code',
    until: 0,
  }
  const types = [...Event.options.map((option): EventType => option.shape.type.value), 'later.happened']
  expect(
    types.filter(
      (type) =>
        line({ ...full, type })
          .split('  ')
          .slice(1)
          .join('').length < 3,
    ),
  ).toEqual([])
  expect(line({ ...full, type: 'later.happened' })).toBe('ses_a  later.happened')
})
