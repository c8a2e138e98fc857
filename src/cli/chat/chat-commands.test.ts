import { describe, expect, test } from 'vitest'
import type { ListedCall } from '../../wire/calls.ts'
import type { MessageRecord } from '../../wire/mail.ts'
import { renderCall } from '../commands/calls.ts'
import { chooseMessage, renderHistory, useDraft } from './chat-commands.ts'

const call = (agent: string, outcome: ListedCall['outcome'], durationMs: number | null): ListedCall => ({
  call: `call_${agent}`,
  flow: 'flow_1',
  caller: 'agent_1',
  callerName: 'planner',
  agent: `agent_${agent}`,
  agentName: agent,
  tool: 'sub_agent',
  task: 'x',
  outcome,
  error: null,
  tokensUsed: 1,
  cost: { usd: null, planUsd: 0, unpricedTokens: 1 },
  createdAt: 0,
  durationMs,
})

test('the history has the shape that people know, oldest first', () => {
  expect(
    renderHistory([
      call('tester', null, null),
      call('reviewer', 'timed_out', 3400),
      call('coder', 'completed', 12_000),
    ]),
  ).toEqual([
    '[planner -> coder] OK (12)',
    '[planner -> reviewer] FAILED (3)',
    '[planner -> tester] RUNNING (0)',
  ])
  expect(renderHistory([])).toEqual(['No calls yet.'])
})

test('a list of calls has the names of agents, not their ids', () => {
  expect(renderCall(call('coder', 'completed', 12_000))).toMatch(
    /^call_coder {2}\[planner -> coder\] OK \(12s, 1 tokens\) {2}\S.* {2}flow_1 {2}x$/,
  )
})

describe('which message is accepted', () => {
  const letter = (id: string): MessageRecord =>
    ({ id, from: null, message: `${id}\n\u001b[2Jtext` }) as MessageRecord
  const letters = ['a', '3', 'c'].map(letter)
  test.each([
    ['', 'a'],
    ['oldest', 'a'],
    ['newest', 'c'],
    ['2', '3'],
    ['3', '3'],
    ['c', 'c'],
  ])('"%s" is %s: an id wins over a place', (which, id) => {
    expect(chooseMessage(letters, which)).toEqual({
      lines: [expect.stringContaining(`${id} from the user: ${id} [2Jtext`)],
      accept: id,
    })
  })
  test('none is told', () => {
    expect(chooseMessage(letters, '9')).toEqual([
      'There is no message "9" here. /inbox lists those that wait.',
    ])
    expect(chooseMessage([], '')).toEqual(['No messages wait.'])
  })
})

describe('which draft is released', () => {
  const drafts = ['a', 'b'].map((id) => ({ id }) as MessageRecord)
  const release = (letters: MessageRecord[], which: string): Promise<string[]> =>
    useDraft(letters, which, async ({ id }) => [`released ${id}`])
  test('one that is named by id or place, or the only one; nothing is released by mistake', async () => {
    expect([
      await release(drafts, 'b'),
      await release(drafts, '1'),
      await release(drafts.slice(1), ''),
    ]).toEqual([['released b'], ['released a'], ['released b']])
    expect(await release(drafts, '')).toEqual([
      'There are 2 drafts. /drafts lists them; name the one that you mean.',
    ])
    expect(await release(drafts, 'c')).toEqual(['There is no draft "c". /drafts lists them.'])
    expect(await release([], '')).toEqual(['No drafts.'])
  })
})
