/** For every tool the largest inputs that it takes. */
import { inletLimits } from '../src/model/bounded-json.ts'
import { bodyUnits, fill, longSchema, taskUnits, texts, widest } from './stall-texts.ts'

export type ToolInputs = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const eachText = (units: number, make: (text: string) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, make(text(units))]))

/**
 * Ids of what was made before: a session with a long conversation, one to write to, and a call with a long
 * result.
 */
export const toolInputs = ({
  session,
  target,
  call,
}: {
  session: string
  target: string
  call: string
}): ToolInputs => ({
  read: {
    'half keys': { path: 'half-keys.txt' },
    'one line of 4 MB': { path: 'long-line.txt' },
    'deep JSON': { path: 'deep.json' },
    frames: { path: 'frames.md', limit: 1_000_000 },
  },
  write: { ...eachText(bodyUnits, (content) => ({ path: 'written.txt', content })) },
  edit: {
    'many places': { path: 'half-keys.txt', old: '-sk-', new: '-SK-', all: true },
    'not there': { path: 'long-line.txt', old: `${'a'.repeat(100_000)}b`, new: 'x' },
  },
  list: { 'many entries': { path: 'many', depth: 10 }, 'all levels': { path: '.', depth: 100 } },
  search: {
    'nested repeats': { pattern: '^(a+)+$' },
    'a long pattern': { pattern: fill('(a|b?)*', 1000) },
    everything: { pattern: '.', max: 100_000 },
  },
  shell: {
    'much output': { command: 'head -c 30000000 /dev/zero | tr "\\0" "k"' },
    'half keys': { command: 'yes -sk-AKEY= | head -c 3000000' },
  },
  sub_agent: {
    ...eachText(taskUnits, (task) => ({ agent_name: 'clerk', task })),
    'wide input': { agent_name: 'clerk', task: 'x', input: widest(), max_context_tokens: 1_000_000 },
    'many keywords': {
      agent_name: 'clerk',
      task: 'x',
      context: { keywords: Array.from({ length: 20_000 }, (_, n) => `word${n}`) },
    },
    'all of the conversation': {
      agent_name: 'clerk',
      task: 'x',
      context: {
        last_messages: 100_000,
        roles: ['user', 'assistant', 'tool'],
        include_workspace: true,
        include_summary: true,
      },
      max_context_tokens: 1_000_000,
    },
    'a long schema': { agent_name: 'clerk', task: 'x', output_schema: longSchema(inletLimits.fieldsMax) },
    'a slow pattern': {
      agent_name: 'echo',
      task: `"${'a'.repeat(28)}!"`,
      output_schema: { type: 'string', pattern: '^(a+)+$' },
    },
    'a result of 1 MiB': { agent_name: 'shout', task: '-sk-' },
  },
  subagent: {
    ...eachText(taskUnits, (task) => ({ task })),
    'a long context': {
      task: 'x',
      context: texts['half keys']?.(bodyUnits),
      files: Array.from({ length: 200 }, () => 'f'.repeat(4000)),
    },
  },
  call_agent: { ...eachText(taskUnits, (message) => ({ agent_id: 'clerk', message })) },
  wait_for_call: { 'a result of 1 MiB': { call_id: call } },
  read_output: {
    'a result of 1 MiB': { call_id: call, limit: 40_000 },
    'from its end': { call_id: call, offset: 1_000_000, limit: 40_000 },
  },
  send_agent_message: { ...eachText(taskUnits, (message) => ({ sessionId: target, message })) },
  get_session_state: { 'a last message of 1 MiB': { sessionId: session } },
  create_agent_session: {
    ...eachText(taskUnits, (initialMessage) => ({ cwd: '.', agent: 'clerk', initialMessage })),
  },
  wait_for_session: { 'a last message of 1 MiB': { sessionId: session, timeout_seconds: 2 } },
  list_agents: { all: {} },
  steer_call: { ...eachText(taskUnits, (message) => ({ call_id: call, message })) },
  wait_for_mail: { 'a full inbox': { timeout_seconds: 2 } },
  'list-session': { everywhere: { dir: '*' } },
  'send-message': { ...eachText(taskUnits, (message) => ({ message, session: target })) },
  buffer: { 'a full inbox': {}, accept: { accept: 'newest' } },
})
