/**
 * The agents of the demo. What a model would say is scripted; everything else is real: files, processes,
 * calls, context, tokens, the log. The rules react to what their tools really returned, so that a test that
 * does not fail, or a repair that does not help, ends the demo as a failure.
 */
import type { AgentOptions } from '../../define.ts'
import type { Json } from '../../model/json.ts'
import { mistake, moduleFile, moduleText, repair, specFile, testFile, testText } from './files.ts'

type DemoAgent = Omit<AgentOptions, 'driver' | 'script' | 'languageModel'> & {
  driver: 'scripted'
  script: readonly Rule[]
}
type Rule = Extract<NonNullable<AgentOptions['script']>, readonly unknown[]>[number]

/**
 * What the user said before, to the planner and to the agent that works alone. Only one of the two is of use
 * to the coder.
 */
export const earlier = [
  'House rules: plain ES modules, no dependencies, tests with node:test.',
  'By the way, the release notes can wait until Friday.',
]

export const task = `Build what ${specFile} asks for, test it, and have it reviewed.`

const noted: Rule = { when: { task: { regex: '^(House rules|By the way)' } }, say: 'Noted.' }

/** Says something, and uses tools. */
const act = (when: Rule['when'], say: string, ...tools: [name: string, input: Json][]): Rule => ({
  ...(when === undefined ? {} : { when }),
  say,
  tools: tools.map(([name, input]) => ({ name, input })),
})
const read = (path: string): [string, Json] => ['read', { path }]
const runTests: [string, Json] = [
  'shell',
  { command: `'${process.execPath.replaceAll("'", String.raw`'\''`)}' --test ${testFile}` },
]

/**
 * As data, so that they can be written to a configuration file. `pauseMs` is how long each answer of the three
 * takes, so that a person can watch.
 */
export function demoAgents(pauseMs: number): Record<string, DemoAgent> {
  const agent = (options: Omit<DemoAgent, 'driver'>, delayMs = pauseMs): DemoAgent => ({
    driver: 'scripted',
    ...options,
    script: [noted, ...options.script.map((rule) => (delayMs === 0 ? rule : { ...rule, delayMs }))],
  })
  return {
    planner: agent({
      description: 'plans and delegates',
      prompt:
        'You plan work and hand it to others. You change no files yourself. When the work is done and ' +
        'reviewed, you tell the user in one sentence what there is.',
      tools: ['read', 'sub_agent'],
      allowSubAgentCalls: true,
      mayCall: ['coder', 'reviewer'],
      script: planner,
    }),
    coder: agent({
      description: 'writes code and its tests',
      prompt:
        'You write small, clear modules and their tests. You run the tests yourself, and you are done when ' +
        'they pass.',
      tools: ['read', 'write', 'edit', 'shell'],
      script: [...coderRules, { when: { tool: 'shell', ok: true }, say: codedText }],
    }),
    reviewer: agent({
      description: 'checks the work of others',
      prompt:
        'You review code against its specification. You believe only what you have read and run yourself. ' +
        'You change nothing.',
      tools: ['read', 'shell'],
      script: [...reviewRules, ...verdict],
    }),
    alone: agent(
      {
        description: 'does everything itself',
        prompt:
          'You build small, clear modules and their tests, and you review your own work. You believe only ' +
          'what you have read and run yourself. You tell the user in one sentence what there is.',
        tools: ['read', 'write', 'edit', 'shell'],
        script: combineRules(),
      },
      0,
    ),
  }
}

const codedText =
  `${moduleFile} does all four points of ${specFile}, and ${testFile} checks each of them. ` +
  'One test failed at first (a dash was left at the ends); it is fixed, and all pass now.'
const doneText = `${moduleFile} and ${testFile} are written, tested and approved.`

const planner: Rule[] = [
  act({ iteration: 1 }, `I read ${specFile} first.`, read(specFile)),
  act({ tool: 'read', ok: true }, 'Four small points: one module and one test. The coder can do that.', [
    'sub_agent',
    {
      agent_name: 'coder',
      task: `Write ${moduleFile}, and ${testFile} with a test for each point of the specification. All must pass.`,
      input: '{{result.text}}',
      context: {
        last_messages: 4,
        roles: ['user'],
        keywords: ['house rules'],
        include_workspace: true,
        workspace_files: [specFile],
      },
      timeout_seconds: 60,
    },
  ]),
  act(
    { tool: 'sub_agent', ok: true, result: '"agent_name":"coder"' },
    'The coder is done. Now somebody else looks at it.',
    [
      'sub_agent',
      {
        agent_name: 'reviewer',
        task: `Check ${moduleFile} against ${specFile}, and whether ${testFile} proves it. Run the tests.`,
        context: { include_workspace: true, workspace_files: [specFile, moduleFile, testFile] },
        allowed_tools: ['read', 'shell'],
        timeout_seconds: 60,
        output_schema: {
          type: 'object',
          required: ['approved', 'exit_code', 'remarks'],
          additionalProperties: false,
          properties: {
            approved: { type: 'boolean' },
            exit_code: { type: 'integer' },
            remarks: { type: 'array', items: { type: 'string' } },
          },
        },
      },
    ],
  ),
  { when: { tool: 'sub_agent', ok: true, result: String.raw`\"approved\":true` }, say: doneText },
  { fail: 'the work was not approved: {{result}}' },
]

const coderRules: Rule[] = [
  act(
    { iteration: 1 },
    'A small module, and a test for each of the four points.',
    ['write', { path: moduleFile, content: moduleText }],
    ['write', { path: testFile, content: testText }],
  ),
  act({ tool: 'write', ok: true }, 'Now the tests.', runTests),
  act(
    { tool: 'shell', ok: false, result: 'no dash at either end' },
    'One fails: a dash is left at both ends. I forgot point 4.',
    ['edit', { path: moduleFile, old: mistake, new: repair }],
  ),
  act({ tool: 'edit', ok: true }, 'Fixed. Once more.', runTests),
]

const reviewRules: Rule[] = [
  act({ iteration: 1 }, 'I read the module and its test.', read(moduleFile), read(testFile)),
  act({ tool: 'read', ok: true }, 'Each point has its test. I run them myself.', runTests),
]

const judge = (approved: boolean, remark: string): string =>
  `{"approved":${approved},"exit_code":{{result.exit_code}},"remarks":["${remark}"]}`

const verdict: Rule[] = [
  { when: { tool: 'shell', ok: true }, say: judge(true, 'Every point of the specification has its test.') },
  { when: { tool: 'shell' }, say: judge(false, 'The tests do not pass.') },
]

/** The words and the tool calls of the three in one conversation, without the handing over. */
const combineRules = (): Rule[] =>
  [
    ...planner.slice(0, 1),
    ...coderRules,
    ...reviewRules,
    { when: { tool: 'shell', ok: true }, say: doneText },
  ].map((rule, index) => ({ ...rule, when: { ...rule.when, iteration: index + 1 } }))
