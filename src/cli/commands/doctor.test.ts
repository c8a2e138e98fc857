import { expect, test } from 'vitest'
import { Agent } from '../../model/agent.ts'
import { checkAgent, checkDriven } from '../setup/doctor-agents.ts'
import { checkNode } from '../setup/doctor-checks.ts'
import { renderFindings } from './doctor.ts'

const agent = (more: object): Agent => Agent.parse({ name: 'a', ...more })

test('doctor knows which Node is new enough', () => {
  expect(['24.15.0', '24.21.3', '25.0.0'].map((version) => checkNode(version).state)).toEqual([
    'ok',
    'ok',
    'ok',
  ])
  expect(['24.14.9', '22.20.0', '20.1.0'].map((version) => checkNode(version).state)).toEqual([
    'problem',
    'problem',
    'problem',
  ])
})

test.each([
  [{ driver: 'host' }, {}, 'warning', 'a: host, so a program must connect'],
  [{}, {}, 'problem', 'a has no model'],
  [{ model: 'gpt' }, {}, 'problem', 'names no provider'],
  [{ model: 'openai/' }, {}, 'problem', 'names no provider'],
  [{ model: 'acme/x' }, {}, 'problem', 'there is no provider "acme"'],
  [{ model: 'openai/x' }, {}, 'problem', 'needs a key'],
  [{ model: 'openai/x' }, { OPENAI_API_KEY: 'k' }, 'ok', 'a: openai/x'],
  [{ model: 'local/x' }, {}, 'ok', 'a: local/x'],
  [{ model: 'keyed/x' }, {}, 'problem', 'needs a key'],
  [{ model: 'keyed/x' }, { MY_KEY: 'k' }, 'ok', 'a: keyed/x'],
])('doctor says of an agent %j with the keys %j: %s', (given, env, state, says) => {
  const providers = {
    local: { kind: 'openai-compatible', baseURL: 'http://127.0.0.1:1' },
    keyed: { kind: 'openai', apiKeyEnv: 'MY_KEY' },
  } as const
  expect(checkAgent(agent(given), providers, env)).toMatchObject({
    state,
    says: expect.stringContaining(says) as unknown,
  })
})

test.each([
  [[], undefined, 'problem', 'a: scripted, without a script'],
  [[], [], 'problem', 'a: scripted, without a script'],
  [
    ['shell'],
    [{ tools: [{ name: 'shel' }] }],
    'problem',
    'its script uses the tool "shel", which it does not have; the nearest',
  ],
  [[], [{ tools: [{ name: 'shell' }] }], 'problem', 'which it does not have; it has no tools'],
  [
    ['files_*', 'shell'],
    [{ tools: [{ name: 'shell' }, { name: 'files_read' }] }, { say: 'x' }],
    'ok',
    'a: scripted',
  ],
])(
  'doctor says of a scripted agent with the tools %j and the script %j: %s',
  (tools, script, state, says) => {
    expect(checkAgent(agent({ driver: 'scripted', tools }), {}, {}, script)).toMatchObject({
      state,
      says: expect.stringContaining(says) as unknown,
    })
  },
)

test('doctor puts what to do under what is wrong', () => {
  expect(
    renderFindings(
      [
        { what: 'node', state: 'ok', says: '24', todo: null },
        { what: 'configuration', state: 'problem', says: 'one\ntwo', todo: 'Fix it.' },
      ],
      false,
    ),
  ).toEqual([
    'ok       node           24',
    'problem  configuration  one',
    '                        two',
    '                        → Fix it.',
  ])
})

test('doctor says why a driven agent cannot be called, before anybody calls it', () => {
  const around = { env: { PATH: '/nowhere' }, home: '/nowhere', dataDir: null }
  const codex = agent({ driver: 'acp', preset: 'codex' })
  expect(checkDriven(codex, around)).toMatchObject({
    state: 'problem',
    says: 'a: codex cannot be called: Codex is not installed',
    todo: expect.stringContaining('npm install -g @openai/codex'),
  })
  expect(checkDriven(agent({ driver: 'acp', command: [process.execPath] }), around)?.state).toBe('ok')
  expect(checkDriven(agent({ model: 'a/b' }), around)).toBe(null)
})
