/** What keeps an agent from working at all, told from what it or its process says. */
import { isRecord } from '../../model/json.ts'
import { headUnits } from '../../model/text.ts'
import type { Preset } from './presets.ts'
import type { Unavailable } from './program.ts'

/** The message starts with the refusal's code, and ends with what a person can do. */
export class AgentUnavailable extends Error {
  static readonly code = 'agent_unavailable'
  override readonly name = 'AgentUnavailable'
  readonly unavailable: Unavailable
  constructor(unavailable: Unavailable) {
    super(`${AgentUnavailable.code}: ${unavailable.why}; ${unavailable.cure}`)
    this.unavailable = unavailable
  }
}

/** The process of an agent has ended while it was asked something. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded'
  constructor(how: string, said: string) {
    super(`its process ended (${how})${said === '' ? '' : `; it said: ${said}`}`)
  }
}

/** The protocol's own code for "log in first". */
const authRequired = -32_000
const loginWords = [
  /auth(?:entication|orization)? (?:is )?required|unauthori[sz]ed|\b401\b/i,
  /not (?:logged|signed) in|log ?in (?:first|again)|invalid (?:api )?key/i,
]
const limitWords = [/usage limit|rate.?limit|quota|too many requests|limit (?:was )?reached|\b429\b/i]
const says = (text: string, words: readonly RegExp[]): boolean => words.some((word) => word.test(text))

const wordsMax = 2000

/** An agent may word its fault as long as a message may be. */
export const faultText = (fault: unknown): string => {
  if (!(fault instanceof Error)) return headUnits(String(fault), wordsMax)
  const data = 'data' in fault ? fault.data : undefined
  const more =
    isRecord(data) && typeof data['details'] === 'string' ? headUnits(data['details'], wordsMax) : ''
  const words = headUnits(fault.message, wordsMax)
  return more === '' || words.includes(more) ? words : `${words}: ${more}`
}

/** Null where it says something else. */
export function readUnavailable(fault: unknown, preset: Preset | null): Unavailable | null {
  const text = faultText(fault)
  const name = preset?.title ?? 'the agent'
  const code = isRecord(fault) ? fault['code'] : undefined
  if (code === authRequired || says(text, loginWords))
    return {
      why: `${name} is not logged in (${text})`,
      cure: preset?.login.cure ?? 'log in with the program itself',
    }
  if (says(text, limitWords))
    return {
      why: `${name} is over its limit (${text})`,
      cure: 'wait until its plan allows more, or call another agent',
      overLimit: true,
    }
  return null
}
