/** What drivers of agents that keep their own loop ask of a turn, and how a word reaches a turn that runs. */
import type { Agent } from '../../model/agent.ts'
import type { Millis } from '../../model/id.ts'
import type { Answer } from '../../model/question.ts'
import type { Json } from '../../model/json.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { Steered } from '../../wire/calls.ts'

/** One thing that such an agent was seen to do; `ended` is null when it begins. */
export type SeenStep = {
  key: string
  name: string
  input: Json
  ended: { ok: boolean; output: Json } | null
  /** It is about the agent, and no tool that it used. */
  isNote?: true
}

export type DrivenSteps = {
  /** Recorded soon, in order. */
  seen(step: SeenStep): void
  /** Makes durable what was seen. Throws where the turn is no longer ours. */
  keep(): Promise<void>
  /** Asks a person for leave, and waits. Where nobody can be asked, that is a denial. */
  ask(tool: string, input: Json, key: string): Promise<{ answer: Answer; by: string }>
  /** Whether a program with the token of this turn has reached this server. */
  reached: () => boolean
}

export type SteerActs = {
  /** A word to a call of this session, or to one below it. */
  steer(call: string, text: string, key: string): Promise<Steered | Refusal>
}

export type Steering = {
  /** This driver takes words; without it nobody can speak to its turn. */
  begin: () => void
  /** Hears each word as it comes. True: the agent has it. What it does not take waits for `take`. */
  onWord(hear: (text: string) => Promise<boolean>): () => void
  /**
   * What waits, recorded as given. `at` names the place in the turn: the same words are there when it runs
   * again. `ends`: nothing waits, so that the turn may end, and no word is accepted from then on.
   */
  take(at: string, ends: boolean): Promise<readonly string[]>
}

/** What stands in the way, and what a person can do about it. */
export type Hindrance = { why: string; cure: string }

/** A limit that an agent or its provider said it has reached. */
export type ReportedLimit = { why: string; resetsAt: Millis }

/** A window of a plan, or a rate limit, and how much of it is used: from 0 to 1. */
export type ReportedWindow = { name: string; used: number; resetsAt: Millis }

/** Where such limits are kept, over restarts too. */
export type LimitBook = {
  note(who: string, why: string, leftMs: Millis): void
  /** It has answered. */
  forget(who: string): void
  find(who: string): ReportedLimit | null
  /** It said how much of its windows is used. One that it does not name now stays as it was, until its reset. */
  see(who: string, windows: readonly ReportedWindow[]): void
  windows(who: string): readonly ReportedWindow[]
  /** Settles when everything is written. */
  close(): Promise<void>
}

export type Hindrances = {
  /** Why it cannot be run at all at present, such as a key that is not set; null where it can. */
  whyUnavailable?(agent: Agent): Hindrance | null
  /** Why `allowed_tools` cannot be kept for it; null where they can. */
  whyUnrestricted?(agent: Agent): Hindrance | null
  /** The limit that it has reached at present, as far as it was reported. It may be asked all the same. */
  limitOf?(agent: Agent): ReportedLimit | null
  /** What is used of the windows that it, or its provider, has reported. */
  windowsOf?(agent: Agent): readonly ReportedWindow[]
  /** False where it does not say what it uses: its visible text is counted then, and marked as an estimate. */
  isMetered?(agent: Agent): boolean
}

/** What the project of a directory knows about its agents; without it there is one place for all. */
export type Placed = {
  /** What an agent of here is called in another directory. */
  spell?(name: string, cwd: string): string
  /** The directory of the project that it is from; null is the user's own. */
  origin?(name: string): string | null
}
