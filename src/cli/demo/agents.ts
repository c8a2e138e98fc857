/**
 * The agents of the demo. What a model would say is scripted; everything else is real: files, processes,
 * calls, context, tokens, the log.
 * The rules answer to what their tools really returned, so a test that did not fail, or a repair that did not
 * help, would end the demo as a failure.
 */
import type { AgentOptions } from '../../define.ts'
import { mistake, moduleFile, moduleText, repair, specFile, testFile, testText } from './files.ts'

type DemoAgent = Omit<AgentOptions, 'driver' | 'script' | 'languageModel'> & {
  driver: 'scripted'
  script: readonly Rule[]
}
type Rule = Extract<NonNullable<AgentOptions['script']>, readonly unknown[]>[number]

/**
 * What the user said before, in the planner's session and in the one of the agent that works alone. One of
 * the two is of use to the coder.
 */
export const earlier = [
  'House rules: plain ES modules, no dependencies, tests with node:test.',
  'By the way, the release notes can wait until Friday.',
]

export const task = `Build what ${specFile} asks for, test it, and have it reviewed.`

const noted: Rule = { when: { task: { regex: '^(House rules|By the way)' } }, say: 'Noted.' }
const check = `'${process.execPath.replaceAll("'", String.raw`'\''`)}' --test ${testFile}`

/**
 * As data, so that they can stand in a configuration file. `pauseMs` is how long each answer of the three
 * takes, so that somebody can watch.
 */
export function demoAgents(pauseMs: number): Record<string, DemoAgent> {
  const agent = (options: DemoAgent): DemoAgent => ({
    ...options,
    script: [noted, ...options.script.map((rule) => ({ ...rule, delayMs: pauseMs }))],
  })
  return {
    planner: agent({
      driver: 'scripted',
      description: 'plans and delegates',
      prompt:
        'You plan work and hand it to others. You change no files yourself. When the work is done and reviewed, you tell the user in one sentence what there is.',
      tools: ['read', 'sub_agent'],
      allowSubAgentCalls: true,
      mayCall: ['coder', 'reviewer'],
      script: planner,
    }),
    coder: agent({
      driver: 'scripted',
      description: 'writes code and its tests',
      prompt:
        'You write small, clear modules and their tests. You run the tests yourself, and you are done when they pass.',
      tools: ['read', 'write', 'edit', 'shell'],
      script: [...coderRules, { when: { tool: 'shell', ok: true }, say: codedWords }],
    }),
    reviewer: agent({
      driver: 'scripted',
      description: 'checks the work of others',
      prompt:
        'You review code against its specification. You believe only what you have read and run yourself. You change nothing.',
      tools: ['read', 'shell'],
      script: [...reviewRules, ...verdict],
    }),
    alone: {
      driver: 'scripted',
      description: 'does everything itself',
      prompt:
        'You build small, clear modules and their tests, and you review your own work. You believe only what you have read and run yourself. You tell the user in one sentence what there is.',
      tools: ['read', 'write', 'edit', 'shell'],
      script: [noted, ...alone()],
    },
  }
}

const codedWords = `${moduleFile} does all four points of ${specFile}, and ${testFile} checks each of them. One test failed at first (a dash was left at the ends); it is fixed, and all pass now.`
const doneWords = `${moduleFile} and ${testFile} are written, tested and approved.`

const planner: Rule[] = [
  {
    when: { iteration: 1 },
    say: `I read ${specFile} first.`,
    tools: [{ name: 'read', input: { path: specFile } }],
  },
  {
    when: { tool: 'read', ok: true },
    say: 'Four small points: one module and one test. The coder can do that.',
    tools: [
      {
        name: 'sub_agent',
        input: {
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
      },
    ],
  },
  {
    when: { tool: 'sub_agent', ok: true, result: '"agent_name":"coder"' },
    say: 'The coder is done. Now somebody else looks at it.',
    tools: [
      {
        name: 'sub_agent',
        input: {
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
      },
    ],
  },
  { when: { tool: 'sub_agent', ok: true, result: String.raw`\"approved\":true` }, say: doneWords },
  { fail: 'the work was not approved: {{result}}' },
]

const coderRules: Rule[] = [
  {
    when: { iteration: 1 },
    say: 'A small module, and a test for each of the four points.',
    tools: [
      { name: 'write', input: { path: moduleFile, content: moduleText } },
      { name: 'write', input: { path: testFile, content: testText } },
    ],
  },
  {
    when: { tool: 'write', ok: true },
    say: 'Now the tests.',
    tools: [{ name: 'shell', input: { command: check } }],
  },
  {
    when: { tool: 'shell', ok: false, result: 'no dash at either end' },
    say: 'One fails: a dash is left at both ends. I forgot point 4.',
    tools: [{ name: 'edit', input: { path: moduleFile, old: mistake, new: repair } }],
  },
  {
    when: { tool: 'edit', ok: true },
    say: 'Fixed. Once more.',
    tools: [{ name: 'shell', input: { command: check } }],
  },
]

const reviewRules: Rule[] = [
  {
    when: { iteration: 1 },
    say: 'I read the module and its test.',
    tools: [
      { name: 'read', input: { path: moduleFile } },
      { name: 'read', input: { path: testFile } },
    ],
  },
  {
    when: { tool: 'read', ok: true },
    say: 'Each point has its test. I run them myself.',
    tools: [{ name: 'shell', input: { command: check } }],
  },
]

const verdict: Rule[] = [
  {
    when: { tool: 'shell', ok: true },
    say: '{"approved":true,"exit_code":{{result.exit_code}},"remarks":["Every point of the specification has its test."]}',
  },
  {
    when: { tool: 'shell' },
    say: '{"approved":false,"exit_code":{{result.exit_code}},"remarks":["The tests do not pass."]}',
  },
]

/**
 * The same words and the same tool calls as the three together, in one conversation; only the handing over is
 * missing.
 */
function alone(): Rule[] {
  const [readSpec] = planner
  const [write, firstRun, fix, secondRun] = coderRules
  const [readBoth, lastRun] = reviewRules
  const rounds = [
    readSpec,
    write,
    firstRun,
    fix,
    secondRun,
    readBoth,
    lastRun,
    { when: { tool: 'shell', ok: true }, say: doneWords },
  ]
  return rounds.flatMap((rule, index) =>
    rule === undefined ? [] : [{ ...rule, when: { ...rule.when, iteration: index + 1 } }],
  )
}
