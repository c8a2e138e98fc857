/** Counts what happens in a run: every type of event, every code of a refusal. A full run must have all of them. */
import { Event, type EventType } from '../src/model/event.ts'
import { Refusal, type RefusalCode } from '../src/model/refusal.ts'
import { count } from './count.ts'

const codes: ReadonlySet<string> = new Set(Refusal.options.map((option) => option.shape.code.value))

const hooked = 'only hooks of programs that a person has open lead to it, and they come over HTTP'

/** Codes and events that nothing in the simulated world can lead to, and why. */
export const unreachable: Partial<Record<RefusalCode | EventType, string>> = {
  not_authenticated: 'only the HTTP server asks for tokens, and it is not simulated',
  project_untrusted: 'only configuration files lead to it, and the simulated world has none',
  cannot_restrict: 'only the launcher of sandboxes returns it, and no processes are simulated',
  agent_unavailable: 'only programs and providers can be unavailable, and neither is simulated',
  'call.steered':
    'only the loop of models and driven programs take a word meanwhile; simulated agents are neither',
  'session.opened': hooked,
  'session.closed': hooked,
  'session.quieted': hooked,
}
export const eventNames = Event.options
  .map((option) => option.shape.type.value)
  .filter((name) => !(name in unreachable))
export const refusalNames = [...codes].filter((code) => !(code in unreachable))
/** How deep calls go, and how many nodes there are. */
export const sizeNames = ['depth.5', 'nodes.1', 'nodes.2', 'nodes.3', 'nodes.4']

export function countEvent(counts: Map<string, number>, event: Event): void {
  count(counts, `event.${event.type}`)
  if (event.type === 'call.refused') countRefusal(counts, event.refusal.code)
  if (event.type === 'call.opened' && event.grant.depth >= 5) count(counts, 'depth.5')
  if (event.type === 'step.ended' && !event.ok) countRefusal(counts, findCode(event.output))
  if (event.type === 'turn.ended' && event.error?.startsWith('output_invalid') === true)
    countRefusal(counts, 'output_invalid')
}

/** Only what is the code of a refusal. */
export function countRefusal(counts: Map<string, number>, code: string | null): void {
  if (code !== null && codes.has(code)) count(counts, `refusal.${code}`)
}

/** Tools answer with the refusal itself, or with an error that has its code. */
function findCode(output: unknown): string | null {
  if (output === null || typeof output !== 'object') return null
  const { code, error } = output as { code?: unknown; error?: unknown }
  if (typeof code === 'string') return code
  return typeof error === 'string' ? (/^(\w+)/.exec(error)?.[1] ?? null) : findCode(error ?? null)
}
