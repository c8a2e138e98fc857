/** What requests cost. A price is looked up once, when its request is recorded; the log keeps it from then on. */
import type { Usage } from '../../model/event.ts'
import type { Millis } from '../../model/id.ts'
import type { Cost } from '../../model/money.ts'

/** Who was asked: the provider by its kind or by its address, and its own name of the model. */
export type PricedModel = {
  /** `provider/model`, as the configuration has it. */
  name: string
  model: string
  provider: { kind: string; baseURL?: string | undefined } | null
}

export type Prices = {
  /** Which table it is, and of when. */
  readonly table: { name: string; version: string; date: string }
  /** Must have resolved before `price` is used. */
  load(): Promise<void>
  /** Null where it has no price. `at` counts where prices depend on the time. */
  price(of: PricedModel, usage: Usage, at: Millis): Cost | null
}

/** Adds the model and its price to what a request has used. */
export type PriceUsage = (usage: Usage) => Usage

/** The table of this version. The package has no date in it: a test holds its version to this one. */
export const priceTable = { name: '@pydantic/genai-prices', version: '0.1.8', date: '2026-09-23' }

/** Of the budget that is used up first: that of the task, or of the day. */
export type MoneyLeft = { left: number; max: number; of: 'task' | 'server' | 'project' }

/** A part of what a driver asks for its effects; a replay has none of it. */
export type MoneySteps = {
  /** Billionths of a dollar that this turn may still use; null is no budget. */
  moneyLeft?(): MoneyLeft | null
  /** What the request under way is estimated to cost: others cannot spend it meanwhile. */
  holdMoney?(nanoUsd: number): void
}
