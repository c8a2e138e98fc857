/** Logs are read years later: no type, field or word of an event may get lost or be called something else. */
import { expect, test } from 'vitest'
import { turnRow } from '../../test/kits/calls.ts'
import { Event, Grant, Hop, MessageSource, Outcome, SessionKind, StepKind, ToolAsk, Usage } from './event.ts'

const letter =
  'message flow from senderTurn source applet inReplyTo text boundary tokens deadline trace grant notices releasedBy'
const step = 'kind name key input'

const fields: Record<string, string> = {
  'agent.created': 'agent definition',
  'agent.deleted': 'agent',
  'session.created': 'agent kind parent cwd title model flow',
  'session.adopted': 'parent revives',
  'session.renamed': 'title',
  'session.archived': 'cause',
  'session.cancelled': 'act turns',
  'session.claimed': 'node epoch',
  'session.forked': 'from entries back',
  'message.drafted': 'message target source inReplyTo text act',
  'message.revised': 'message target inReplyTo text how instructions note act revisedBy writtenIn',
  'message.sent': `${letter} use`,
  'message.released': 'message act from',
  'message.accepted': 'message by act from',
  'message.delivered': `${letter} opens`,
  'message.answered': 'message reply from',
  'message.declined': 'message by from',
  'message.died': 'message from cause',
  'turn.started': 'node epoch deadline',
  'turn.suspended': 'node epoch',
  'turn.cancelled': 'outcome cause',
  'turn.ended':
    'outcome output error tokensUsed tokensBelow spent spentBelow iterations toolCalls entry moved',
  'step.started': step,
  'step.ended': `${step} ok output usage startedAt`,
  'call.opened':
    'call key flow target tool task taskHash input background outputSchema requested deadline grant context ' +
    'attachment boundary notices told notes boundBy',
  'call.refused': 'call key tool agent task taskHash requested boundary refusal',
  'call.steered': 'call from text act',
  'call.ended':
    'call target outcome output outputBytes truncated errors toolCalls tokensUsed spent iterations openedAt ' +
    'endedAt cause moved',
  'wait.started': 'target until',
  'wait.ended': 'target reason',
  'question.asked': 'question key agent tool input path flow deadline',
  'question.answered': 'question answer by reason scope tool',
  'flow.seen': 'flow',
  'notice.raised': 'about text',
  'mail.announced': 'messages moment',
  'session.woken': 'messages reason',
  'session.opened': 'program',
  'session.closed': 'cause',
  'session.quieted': 'until',
}

test('these are the events, each with its fields', () => {
  const shapes = Event.options.map(({ shape }) => [shape.type.value, Object.keys(shape).join(' ')])
  expect(Object.fromEntries(shapes)).toEqual(
    Object.fromEntries(Object.entries(fields).map(([type, own]) => [type, `type session turn ${own}`])),
  )
})

test('the words that events use are these', () => {
  expect(Outcome.options.join(' ')).toBe('completed failed timed_out cancelled budget_exhausted refused lost')
  expect(SessionKind.options).toEqual(['ephemeral', 'persistent', 'external'])
  expect(MessageSource.options).toEqual(['user', 'applet', 'agent'])
  expect(StepKind.options).toEqual(['model', 'tool', 'summary', 'move'])
})

const archived = (cause: string) => ({ type: 'session.archived', session: 'ses_1', turn: null, cause })
const steered = {
  type: 'call.steered',
  session: 'ses_1',
  turn: 'turn_1',
  call: 'call_1',
  from: null,
  text: 'go',
}
const revised = {
  type: 'message.revised',
  session: 'ses_1',
  turn: null,
  message: 'msg_1',
  target: { kind: 'new' },
  inReplyTo: null,
  text: 't',
  how: 'written',
  instructions: null,
  note: null,
  act: null,
}
const refused = {
  type: 'call.refused',
  session: 'ses_1',
  turn: 'turn_1',
  call: 'call_1',
  key: 'k',
  tool: 'sub_agent',
  agent: 'a',
  task: 't',
  taskHash: 'h',
  requested: {},
  refusal: { code: 'self_call', agent: 'a' },
}

test.each<[string, unknown, boolean]>([
  ['a session put away as idle', archived('idle'), true],
  ['a session put away as deleted', archived('deleted'), true],
  ['a session put away for anything else', archived('gone'), false],
  ['a session of no id', { ...archived('idle'), session: 'x' }, false],
  ['a turn of no id', { ...archived('idle'), turn: 'x' }, false],
  ['a field that is not known', { ...archived('idle'), more: 1 }, false],
  ['a word of the user without an act', { ...steered, act: null }, true],
  ['a word with an act', { ...steered, act: 'a' }, true],
  ['a word whose act is missing', steered, false],
  ['a draft as it was written', revised, true],
  ['a draft that was elaborated', { ...revised, how: 'elaborated' }, true],
  ['a draft that was iterated', { ...revised, how: 'iterated' }, true],
  ['a draft changed in another way', { ...revised, how: 'lost' }, false],
  ['a draft that the user changed', { ...revised, revisedBy: 'user', writtenIn: 'turn_1' }, true],
  ['a draft that somebody else changed', { ...revised, revisedBy: 'agent' }, false],
  ['a refused call', refused, true],
  ['one with a boundary', { ...refused, boundary: '482' }, true],
  ['one with a boundary of four digits', { ...refused, boundary: '4821' }, false],
  ['one with a boundary after a blank', { ...refused, boundary: ' 482' }, false],
  ['one whose refusal is unknown', { ...refused, refusal: { code: 'no' } }, false],
])('%s is read or not: %#', (_what, event, isEvent) => {
  expect(Event.safeParse(event).success).toBe(isEvent)
})

test('a grant, a hop, what was used and a use of a tool have these fields', () => {
  const named = (shape: object): string => Object.keys(shape).join(' ')
  expect(named(Grant.shape)).toBe(
    'agent depth subagentDepth path authority tokensMax nanoUsdMax maxIterations',
  )
  expect(named(Hop.shape)).toBe('session agent')
  expect(named(Usage.shape)).toBe('input output estimated cached cacheWrite reasoning model cost')
  expect(named(ToolAsk.shape)).toBe('tool input')
  expect(Grant.parse(turnRow().grant)).toEqual(turnRow().grant)
})
