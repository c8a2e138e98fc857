/**
 * The built-in offline demo agent: it repeats its message, and asks the agents that the message names. It
 * shows calls on a machine without a model, and says the same each time: at once, or at a pace at which a
 * person can follow.
 */
import type { Agent } from '../../model/agent.ts'
import { isRecord, textAt } from '../../model/json.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import type { ScriptedFunction, ScriptedTurn } from './run-function.ts'

/** R11: a message that names everybody must not become a flood of calls. */
export const askedMax = 3

export const demoAgent: ScriptedFunction = (turn) => answer(turn)

/**
 * An agent that a door makes with this model is the demo, whatever providers there are, and can be watched.
 */
export const pacedModel = 'demo/paced'
const wordMs = 45

export const pacedDemoAgent =
  (clock: Pick<Clock, 'sleep'>): ScriptedFunction =>
  (turn) =>
    answer(turn, () => clock.sleep(wordMs, turn.signal))

async function answer(turn: ScriptedTurn, pace?: () => Promise<void>): Promise<string> {
  // Of two that have one name, the one that is like this one is meant.
  const isLike = (agent: Agent): boolean => agent.model === turn.agent.model
  const mentions = findMentions(turn.task, [
    turn.agent,
    ...turn.callable.filter(isLike),
    ...turn.callable.filter((agent) => !isLike(agent)),
  ])
  const named = [...new Set(mentions.map(({ agent }) => agent))].filter(
    ({ name }) => name !== turn.agent.name,
  )
  const lines = [
    `This is ${callName(turn.agent)}, the offline demo agent: no model answers here, ` +
      `so I say what I was told. I was told: "${turn.task}"`,
  ]
  if (pace !== undefined && named.length > 0) {
    const who = named.slice(0, askedMax).map(callName).join(' and ')
    const are = named.length === 1 ? 'is' : 'are'
    await turn.think(`${who} ${are} named here. I ask, and wait for the answer.`, pace)
  }
  for (const agent of named.slice(0, askedMax))
    lines.push(await askAgent(turn, agent, messageFor(agent, turn.task, mentions)))
  const left = named.slice(askedMax)
  if (left.length > 0)
    lines.push(
      `I ask at most ${askedMax} agents for one message, so I did not ask ${left.map(callName).join(', ')}.`,
    )
  return turn.think(lines.join('\n\n'), pace)
}

/** One place in the message where an agent is named. */
type Mention = { agent: Agent; start: number; end: number }

/** Longer names first, so that "helper" is not found inside "helper two". Each place names one agent. */
function findMentions(text: string, agents: readonly Agent[]): Mention[] {
  const mentions: Mention[] = []
  // A name that came before is not shorter, so it covers an end of whatever it overlaps.
  const taken = new Uint8Array(text.length)
  const names = agents
    .flatMap((agent) => listNames(agent).map((name) => ({ agent, name })))
    .toSorted((a, b) => b.name.length - a.name.length)
  for (const { agent, name } of names) {
    for (const start of findPlaces(text, name)) {
      const end = start + name.length
      if (taken[start] === 1 || taken[end - 1] === 1) continue
      taken.fill(1, start, end)
      mentions.push({ agent, start, end })
    }
  }
  return mentions.sort((a, b) => a.start - b.start)
}

/**
 * A dash or a dot inside a word belongs to it ("helper-2", "helper.ts"); a dot at the end of a sentence does
 * not.
 */
const wordBefore = /[\p{L}\p{N}_-]$|[\p{L}\p{N}]\.$/u
const wordAfter = /^(?:[\p{L}\p{N}_-]|\.[\p{L}\p{N}])/u

/** Where a name stands as whole words, in any case. */
function* findPlaces(text: string, name: string): Generator<number> {
  const [where, what] = [lowered(text), lowered(name)]
  for (let at = where.indexOf(what); at >= 0; at = where.indexOf(what, at + what.length)) {
    if (
      !wordBefore.test(text.slice(Math.max(0, at - 3), at)) &&
      !wordAfter.test(text.slice(at + what.length, at + what.length + 3))
    )
      yield at
  }
}

/**
 * A few letters change their length with their case: then places would not be the same, and the case counts.
 */
function lowered(text: string): string {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text
}

const listNames = (agent: Agent): string[] =>
  [agent.name, agent.title ?? ''].filter((name) => name.trim() !== '')
const callName = (agent: Agent): string => agent.title ?? agent.name

/**
 * Nobody else is named in what is handed on: the one who is asked would call them again, or come back to the
 * caller.
 */
function messageFor(agent: Agent, text: string, mentions: readonly Mention[]): string {
  let handed = ''
  let from = 0
  for (const mention of mentions) {
    handed +=
      text.slice(from, mention.start) +
      (mention.agent === agent ? text.slice(mention.start, mention.end) : 'another agent')
    from = mention.end
  }
  return `You are named in this message: ${handed}${text.slice(from)}`
}

async function askAgent(turn: ScriptedTurn, agent: Agent, message: string): Promise<string> {
  const { ok, value } = await turn.tool('call_agent', { agent_id: agent.name, message })
  const said = textAt(value, 'response')
  if (ok) return `${callName(agent)} answered: ${said}`
  // A refusal that comes before the tool itself has its words one level deeper.
  const refusal = isRecord(value) ? textAt(value['error'], 'message') : ''
  const why = textAt(value, 'error') || refusal || 'no reason was given.'
  const soFar = said === '' ? '' : ` So far it had said: ${said}`
  return `${callName(agent)} did not answer (${textAt(value, 'outcome') || 'refused'}): ${why}${soFar}`
}
