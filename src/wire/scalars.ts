/** The small shapes that requests and answers are made of. */
import { z } from 'zod'
import type { Json } from '../model/json.ts'

/** Any JSON. It was parsed as JSON, so nothing is left to check. */
export const AnyJson = z.custom<Json>((value) => value !== undefined).describe('any JSON')

export const count = z.number().int()
export const millis = z.number().describe('milliseconds since 1970')
export const nanos = z.string().regex(/^\d+$/).describe('nanoseconds since 1970')

/** An id, or a part of one that only one has. */
export const IdText = z.string().min(1).max(200)
export const IdPath = z.strictObject({ id: IdText.describe('an id, or a part that only one has') })

/** Half of a surrogate pair has no bytes in UTF-8: what is stored would differ from what was sent. */
export const Text = z
  .string()
  .min(1, 'a text that is not empty')
  .refine((text) => text.isWellFormed(), 'text without halves of surrogate pairs')

export const Directory = z.string().min(1).max(4096)

/** A flag in a query string. */
export const Flag = z.enum(['true', 'false']).transform((text) => text === 'true')

/** How many rows a page has: more than `max` is `max`. */
export const pageSize = (max: number) =>
  z.coerce
    .number()
    .int()
    .min(1)
    .transform((limit) => Math.min(limit, max))
    .optional()
    .describe(`at most ${max}`)

/** A place in a list that is counted by numbers. */
export const PageNumber = z.coerce.number().int().min(0).optional().describe('`next` of the page before')

/** A window of a plan, or a rate limit, as the agent or its provider reported it. */
export const PlanWindow = z
  .object({
    name: z.string().describe('`5 hours`, `week`, `requests`'),
    usedPercent: z.number().describe('how much of it is used, from 0 to 100'),
    resetsAt: z.string(),
  })
  .meta({ id: 'Window' })

/** What something has cost: an estimate by the price table, unless the agent or the provider said it itself. */
export const CostView = z
  .object({
    usd: z.number().nullable().describe('null where nothing of it has a price: it is unpriced, and not free'),
    planUsd: z.number().describe('the part of it that a plan covers: what it would have cost'),
    unpricedTokens: count.describe('tokens without a price, which are not in `usd`'),
  })
  .meta({ id: 'Cost' })
export type CostView = z.infer<typeof CostView>
