/**
 * Where a view of mail keeps what sessions receive: one place per session, which says itself up to where it
 * has read the log and whether it is whole.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { MessageId, Millis, SessionId } from '../model/id.ts'

/** One use of a tool. With the same key, the second one ends what the first one began. */
export type ToolChange = {
  seq: number
  key: string
  name: string
  parameters: string
  startedAt: Millis
  ended: {
    ok: boolean
    /** Its result as JSON, or in words why there is none. */
    text: string
    at: Millis
  } | null
}

export type PlaceChange = {
  /** Everything up to here is in it afterwards; -1 while it is being rebuilt. */
  seq: number
  /** What was there is removed first. */
  fresh: boolean
  messages: readonly { id: MessageId; text: string }[]
  tools: readonly ToolChange[]
}

export type MailStorage = {
  /** It has a log of its own for uses of tools. */
  readonly tools: boolean
  /** Up to where a place has read this log; null where it is missing, damaged, changed or another log's. */
  check(session: SessionId, log: string): Promise<number | null>
  /** Calls for one session come one after the other. */
  apply(session: SessionId, log: string, change: PlaceChange): Promise<void>
  close(): Promise<void>
}

/** What a place says about itself. `sum` adds up digests, so that one message changes it alone. */
export const PlaceState = z.object({
  log: z.string(),
  seq: z.number().int(),
  count: z.number().int(),
  sum: z.number().int(),
  tools: z.number().int(),
  toolSum: z.number().int(),
})
export type PlaceState = z.infer<typeof PlaceState>

const nothing = { seq: -1, count: 0, sum: 0, tools: 0, toolSum: 0 }
export const emptyPlace = (log: string): PlaceState => ({ log, ...nothing })

const modulus = 2 ** 48
/** 48 bits, so that sums stay whole numbers. */
export const digestText = (name: string, text: string): number =>
  createHash('sha256').update(name).update('\0').update(text).digest().readUIntBE(0, 6)
export const addDigest = (sum: number, digest: number): number => (sum + digest) % modulus
export const subtractDigest = (sum: number, digest: number): number => (sum - digest + modulus) % modulus

/** Counts a message that was written, in place of what was there before. */
export function countMessage(state: PlaceState, name: string, before: string | null, text: string): void {
  state.count += before === null ? 1 : 0
  const rest = before === null ? state.sum : subtractDigest(state.sum, digestText(name, before))
  state.sum = addDigest(rest, digestText(name, text))
}

/** Null for what is no state of this log, or of a place that was not finished. */
export function parseState(value: unknown, log: string): PlaceState | null {
  const parsed = PlaceState.safeParse(value)
  return parsed.success && parsed.data.log === log && parsed.data.seq >= 0 ? parsed.data : null
}

/** Ids of sessions and messages are names of files here. */
export const isFileName = (id: string): boolean => /^[A-Za-z0-9_-]{1,140}$/.test(id)
