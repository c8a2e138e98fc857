/** An expected no: a value, in one closed union. `explain` tells the calling model what to do next. */
import { z } from 'zod'
import { jsonHead } from './json-head.ts'
import { findNearest } from './nearest.ts'
import { preview } from './text.ts'
import { turnVariable } from './turn-variable.ts'
import { explainUntrusted, whyUntrusted, type UntrustedProject } from './untrusted.ts'
import { formatUsd } from './money.ts'

const [text, texts, number] = [z.string(), z.array(z.string()), z.number()]

const refusal = <C extends string, S extends z.ZodRawShape>(code: C, shape: S) =>
  z.strictObject({ code: z.literal(code), ...shape })

export const Refusal = z.discriminatedUnion('code', [
  refusal('bad_input', { field: text, given: text, expected: text }),
  refusal('self_call', { agent: text }),
  refusal('reply_not_addressed', { message: text }),
  refusal('not_authenticated', { why: text.exactOptional() }),
  refusal('not_allowed', { agent: text, what: text, allowed: texts }),
  refusal('tool_disabled', { tool: text, why: text }),
  /** With an agent: a call wanted a limit that its driver cannot keep. */
  refusal('cannot_restrict', { what: text, why: text, cure: text, agent: text.exactOptional() }),
  refusal('message_not_yours', { message: text }),
  /** It cannot be run at all at present. */
  refusal('agent_unavailable', { agent: text, why: text, cure: text }),
  refusal('agent_unknown', { agent: text, known: texts }),
  /** The agent stands in a configuration that nobody has agreed to. */
  refusal('project_untrusted', { agent: text, file: text, why: text }),
  /** `candidates` are addresses, where one was asked for. */
  refusal('session_unknown', { session: text, candidates: texts.exactOptional() }),
  refusal('message_unknown', { message: text }),
  refusal('call_unknown', { call: text }),
  refusal('question_unknown', { question: text }),
  refusal('question_answered', { question: text, answer: text, by: text }),
  refusal('session_ambiguous', { session: text, candidates: texts }),
  refusal('session_busy', { session: text }),
  refusal('call_cycle', { path: texts }),
  refusal('call_deadlock', { path: texts }),
  refusal('call_too_deep', { depth: number, depthMax: number, limit: text }),
  /** `own` is false where what ended is not the turn of who asked. */
  refusal('call_ended', { why: text, own: z.literal(false).exactOptional() }),
  refusal('task_repeated', { agent: text }),
  refusal('message_already_sent', { message: text }),
  refusal('message_changed', { message: text }),
  /** `how` is what became of it. */
  refusal('message_taken', { message: text, how: text, by: text }),
  refusal('flow_expired', { ageSeconds: number, ageSecondsMax: number }),
  refusal('too_large', { field: text, bytes: number, bytesMax: number }),
  refusal('context_too_large', {
    tokens: number,
    tokensMax: number,
    parts: z.record(text, number),
    /** The tool that called has no parameter for it. */
    fixed: z.literal(true).exactOptional(),
  }),
  refusal('output_invalid', { problems: texts }),
  refusal('too_many_calls', { open: number, openMax: number }),
  refusal('queue_full', { session: text, queued: number, queuedMax: number }),
  refusal('too_many_descendants', { created: number, createdMax: number }),
  refusal('too_many_agents', { made: number, madeMax: number }),
  refusal('rate_limited', { what: text, perMinute: number, retryInMs: number }),
  refusal('budget_exhausted', {
    needed: number,
    left: number,
    /** It is money that is used up, in billionths of a dollar. */
    usd: z
      .strictObject({
        max: number,
        used: number,
        /** It is the budget of a day. */
        day: z.enum(['server', 'project']).exactOptional(),
      })
      .exactOptional(),
  }),
  refusal('store_unavailable', {
    path: text,
    reason: text,
    /** What a person must do about it. */
    cure: text,
    /** What is left on that disk; null where it is not known. */
    freeBytes: number.nullable(),
    retryInMs: number,
  }),
])
export type Refusal = z.infer<typeof Refusal>
export type RefusalCode = Refusal['code']

export const isRefusalCode = (code: unknown): code is RefusalCode =>
  typeof code === 'string' && Object.hasOwn(words, code)

const listedMax = 20
/** Lists are as long as there are agents or sessions; a model needs the first of them at most. */
const few = (names: readonly string[], between = ', '): string =>
  names.slice(0, listedMax).map(shorten).join(between) +
  (names.length > listedMax ? ` and ${names.length - listedMax} more` : '')
/** Whether an answer is a refusal: nothing else that acts answer with has a `code`. */
export const isRefusal = (answer: object): answer is Refusal => 'code' in answer

/** What was given instead of a field that exists, and instead of one that must be there. */
export const unknownField = 'a field that does not exist'
const nothingGiven = 'nothing'

const words: { [Code in RefusalCode]: (refusal: Extract<Refusal, { code: Code }>) => string } = {
  bad_input: (r) => {
    const right = r.expected.replace(/^nothing/, 'left out').replace(/,$/, '')
    if (r.given === unknownField) return `There is no field "${r.field}"; ${right}. Correct it and try again.`
    if (r.given === nothingGiven) return `${r.field} is missing: it must be ${right}. Add it and try again.`
    return `${r.field}: ${r.given} was given, but it must be ${right}. Correct it and try again.`
  },
  self_call: (r) =>
    `An agent cannot call itself or write to itself (${r.agent}). Do this part yourself, or turn to another agent.`,
  reply_not_addressed: (r) =>
    `Message ${r.message} was not addressed to you and accepted by you, so you cannot reply to it. ` +
    'Send a new message instead.',
  not_authenticated: (r) =>
    r.why === undefined
      ? 'A valid token is needed. Ask the user for one.'
      : `${r.why}, so it needs a token. Inside a turn send the one in $${turnVariable} as "Authorization: ` +
        'Bearer …"; otherwise the one in the file "token" of the server\'s data directory.',
  not_allowed: (r) =>
    `${r.agent} may not ${r.what}. ` +
    (r.allowed.length > 0
      ? `Allowed: ${few(r.allowed)}.`
      : 'Do the work yourself, or tell the user that the configuration forbids it.'),
  cannot_restrict: (r) =>
    r.agent === undefined
      ? `${r.what} was not started: it must run in a sandbox, and there is none here, because ${r.why}. ` +
        `Go on without it, and tell the user: ${r.cure}`
      : `${r.agent} was not called: ${r.what} cannot be kept for it, because ${r.why}. Instead, ${r.cure}.`,
  agent_unavailable: (r) =>
    `${r.agent} cannot be called now: ${r.why}. Go on without it or call another agent, and tell the user: ` +
    `${r.cure}.`,
  tool_disabled: (r) => `The tool ${r.tool} is not available here: ${r.why}. Go on without it.`,
  message_not_yours: (r) =>
    `Message ${r.message} belongs to another session. Only its owner can change it. ` +
    'Send a message of your own instead.',
  project_untrusted: (r) =>
    `The agent "${r.agent}" stands in ${r.file}, which is not used: ${r.why}. ` +
    (r.why.startsWith(whyUntrusted.broken)
      ? 'Tell the user to correct it; after that it can be called. '
      : 'Tell the user to look at it and to run "tieline trust" in that directory; after that it can be called. ') +
    'Go on without it.',
  agent_unknown: (r) =>
    `There is no agent "${r.agent}"${nearestTo(r.agent, r.known)}. ` +
    (r.known.length > 0
      ? `Known agents: ${few(r.known)}.`
      : 'No agents are configured. Do the work yourself, or tell the user.'),
  session_unknown: (r) =>
    r.candidates === undefined
      ? `There is no session "${r.session}". List the sessions and use one of their ids.`
      : `No client has worked at "${r.session}". ` +
        (r.candidates.length === 0
          ? 'No address is registered yet: use the id of a session.'
          : `Known addresses: ${few(r.candidates)}. Use one of them, the whole path of the directory after the @, ` +
            'or the id of a session.'),
  message_unknown: (r) => `There is no message "${r.message}". List the messages and use one of their ids.`,
  call_unknown: (r) => `There is no call "${r.call}" of yours. Use the call_id that the call returned.`,
  question_unknown: (r) =>
    `There is no question "${r.question}". List the open questions and use one of their ids.`,
  question_answered: (r) =>
    `Question ${r.question} was answered already: ${r.answer}, by ${r.by}. Go on with that answer.`,
  session_ambiguous: (r) => `"${r.session}" fits several sessions: ${few(r.candidates)}. Use a whole id.`,
  session_busy: (r) => `Session ${r.session} is busy. Send without delivery "now" to queue, or try later.`,
  call_cycle: (r) =>
    `This call would come back to an agent that is waiting for it: ${r.path.join(' -> ')}. ` +
    'Answer with what you have instead; your caller gets it.',
  call_deadlock: (r) =>
    `This call would wait in a ring: ${r.path.join(' -> ')}. ` +
    'Answer with what you have instead: when your own turn ends, the others can go on.',
  call_too_deep: (r) =>
    `This call would be ${r.depth} hops deep; ${r.limit} allows ${r.depthMax}. Do this part yourself.`,
  call_ended: (r) => `Nobody waits for this any more: ${r.why}.${r.own === false ? '' : ' Stop and finish.'}`,
  task_repeated: (r) =>
    `This is the task you were given, word for word, handed on to ${r.agent}. ` +
    'Do it, or hand on a smaller part of it.',
  message_already_sent: (r) => `Message ${r.message} was sent already and cannot be changed. Send a new one.`,
  message_changed: (r) =>
    `Message ${r.message} was changed after you read it. Check what it says now, and try again.`,
  message_taken: (r) =>
    `Message ${r.message} does not wait any more: it was ${r.how} by ${r.by}. List the inbox and take another.`,
  flow_expired: (r) =>
    `The last input of a user is ${r.ageSeconds} s old; agents may write to each other for ` +
    `${r.ageSecondsMax} s after it. Stop, and wait for the user.`,
  too_large: (r) =>
    `${r.field} has ${r.bytes} bytes; at most ${r.bytesMax} are taken. ` +
    'Shorten it, or put it into a file and pass the path.',
  context_too_large: (r) => {
    const parts = Object.entries(r.parts).map(([part, tokens]) => `${part} ${tokens}`)
    return (
      `The child's context needs ${r.tokens} tokens (${parts.join(', ')}) without any message; ` +
      (r.fixed === true
        ? `at most ${r.tokensMax} are allowed here. Shorten the task, or pass less with it.`
        : `max_context_tokens is ${r.tokensMax}. Shorten the task or raise max_context_tokens.`)
    )
  },
  output_invalid: (r) =>
    `The output does not satisfy output_schema: ${r.problems.join('; ')}. ` +
    'Ask again with a simpler schema, or without one.',
  too_many_calls: (r) =>
    `${r.open} calls of yours are open; at most ${r.openMax} may be. Wait for one to end.`,
  queue_full: (r) =>
    `Session ${r.session} has ${r.queued} inputs waiting; at most ${r.queuedMax} may. ` +
    'Try later, or use another agent.',
  too_many_descendants: (r) =>
    `This request has created ${r.created} sessions; at most ${r.createdMax} are allowed. Do the rest yourself.`,
  too_many_agents: (r) =>
    `${r.made} agents were made by API; at most ${r.madeMax} may be. ` +
    'Use one that is there, or delete one with DELETE /v1/agents/:id.',
  rate_limited: (r) =>
    `More than ${r.perMinute} ${r.what} a minute in this flow. ` +
    `Try again in ${Math.ceil(r.retryInMs / 1000)} s, or do it yourself.`,
  budget_exhausted: (r) =>
    r.usd?.day !== undefined
      ? `The ${r.usd.day} may spend ${formatUsd(r.usd.max)} a day, and ${formatUsd(r.usd.used)} of today (UTC) is ` +
        'spent. Finish with what you have: more can be spent after midnight UTC, or once a person has raised ' +
        '[limits] dayUsdMax.'
      : r.usd !== undefined
        ? `Of the budget of ${formatUsd(r.usd.max)}, ${formatUsd(r.usd.used)} is spent or held by calls, and ` +
          'nothing is left. Finish with what you have.'
        : `${r.needed} tokens are needed and ${r.left} are left of the budget. Finish with what you have.`,
  store_unavailable: (r) =>
    `Nothing can be recorded now: ${r.reason} (${renderPlace(r)}). ${r.cure}` +
    ` Try again in ${Math.ceil(r.retryInMs / 1000)} s, with the same key or id.`,
}

/** Only where it can be a slip; all that there are follow anyway. */
function nearestTo(given: string, known: readonly string[]): string {
  const nearest = findNearest(given, known)
  return nearest.startsWith('the nearest') ? `; ${nearest}` : ''
}

const renderPlace = ({ path, freeBytes }: { path: string; freeBytes: number | null }): string =>
  freeBytes === null ? path : `${path}, ${(freeBytes / 1_000_000).toFixed(1)} MB free`

export function explain(refusal: Refusal): string {
  const word = words[refusal.code] as (refusal: Refusal) => string
  return word(refusal)
}

const knownMax = 50

/** Recorded with the call that was refused, so the names are few. */
export function agentUnknown(
  agent: string,
  known: readonly string[],
  untrusted: readonly UntrustedProject[] = [],
): Refusal {
  const project = untrusted.find(({ agents, state }) => state === 'broken' || agents.includes(agent))
  return project === undefined
    ? { code: 'agent_unknown', agent, known: known.slice(0, knownMax) }
    : { code: 'project_untrusted', agent, file: project.file, why: explainUntrusted(project) }
}

export const badInput = (field: string, given: unknown, expected: string): Refusal => ({
  code: 'bad_input',
  field,
  given: describe(given),
  expected,
})

function describe(given: unknown): string {
  if (given === undefined) return nothingGiven
  if (typeof given === 'string') return given === '' ? 'an empty text' : JSON.stringify(shorten(given))
  return shorten(jsonHead(given))
}

export function shorten(text: string): string {
  const short = preview(text, 80)
  return short.length < text.length ? `${short}…` : text
}
