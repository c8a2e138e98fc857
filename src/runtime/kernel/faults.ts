/** What may break a turn from outside, by kind, so that whoever catches it can tell them apart. */
import type { Outcome, Usage } from '../../model/event.ts'
import { answerUnitsMax } from '../../model/limits.ts'
import { StoreUnavailable } from './store-health.ts'

const causesMax = 5

/** The refusal behind a fault, where the store could not write; null where it was something else. */
export function storeRefusal(fault: unknown): StoreUnavailable['refusal'] | null {
  for (let at = fault, depth = 0; at instanceof Error && depth < causesMax; at = at.cause, depth += 1)
    if (at instanceof StoreUnavailable) return at.refusal
  return null
}

/** The turn's tokens are used up: it ends with what it has. */
export class BudgetExhausted extends Error {
  override readonly name = 'BudgetExhausted'
}

/** The turn is no longer ours: another activation has it, or it has ended. Nothing more may be recorded. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}

/** This node has stopped, or begun to: nothing more starts here, and nobody waits here any longer. */
export class LineClosed extends Error {
  override readonly name = 'LineClosed'
  constructor() {
    super('Tieline was closed; what it has recorded goes on when its data directory is opened again')
  }
}

export type ProviderFaultCode =
  | 'provider_unconfigured'
  | 'provider_error'
  | 'provider_stalled'
  | 'provider_garbage'
  | 'provider_cut'
  | 'script_failed'

/**
 * A model, or what stands in for one, gave no usable answer. The message starts with the code and holds no
 * secrets: it is recorded and shown.
 */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault'
  readonly code: ProviderFaultCode
  /** What the broken answer cost; null where nothing was received. */
  readonly usage: Usage | null
  /** It is not this request that it cannot answer: it is down, over its limit, or not paid for. */
  readonly unavailable: boolean

  constructor(
    code: ProviderFaultCode,
    detail: string,
    options: { usage?: Usage | null; unavailable?: boolean; cause?: unknown } = {},
  ) {
    super(detail === '' ? code : `${code}: ${detail}`, { cause: options.cause })
    this.code = code
    this.usage = options.usage ?? null
    this.unavailable = options.unavailable ?? false
  }
}

/** What really ran the turn is gone, and cannot go on: the turn ends `lost`. */
export class RunnerLost extends Error {
  override readonly name = 'RunnerLost'
}

/** R11: an agent said more than an answer may have. What it had said until then is kept. */
export class SaidTooMuch extends Error {
  override readonly name = 'SaidTooMuch'
  constructor() {
    super(`output_too_long: the agent was stopped after it had said ${answerUnitsMax} characters`)
  }
}

/**
 * Why a driver's signal aborted: the turn was told to stop. Where from says nothing, and thousands of turns may be
 * stopped in one second, so it has no stack.
 */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(`the turn was stopped (${outcome})`)
    Error.stackTraceLimit = stackTraceLimit
    this.outcome = outcome
  }
}
