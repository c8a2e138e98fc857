/** The server itself: whether it is well, who it is, and what everything adds up to. */
import { z } from 'zod'
import { CostView, count, millis } from './scalars.ts'

export const Health = z.object({
  status: z
    .enum(['ok', 'unavailable'])
    .describe('"unavailable", with the status 503, while nothing can be recorded'),
  version: z.string(),
  uptimeSeconds: count,
  store: z
    .object({
      status: z.enum(['ok', 'unavailable']),
      reason: z.string().nullable().describe('why nothing can be recorded'),
      cure: z.string().nullable().describe('what a person must do'),
      freeBytes: z.number().nullable().describe('what is left on the disk of the log'),
      since: z.number().nullable().describe('milliseconds since 1970'),
      checking: z
        .object({ done: count, of: count })
        .optional()
        .describe('after an end that was not clean, while the file is looked through: tables done, of all'),
    })
    .optional()
    .describe('absent where the server is older'),
})
export type Health = z.infer<typeof Health>

export const ServerView = z.object({
  version: z.string(),
  uptimeSeconds: count,
  cwd: z.string().describe('where sessions work that name no directory'),
  auth: z.enum(['tokens', 'open']),
})
export type ServerView = z.infer<typeof ServerView>

/** A node of a cluster, as it said with its last heartbeat. */
export const NodeView = z.object({
  id: z.string(),
  name: z.string(),
  labels: z.array(z.string()),
  version: z.string(),
  url: z.string().nullable().describe('where it serves; null where it serves nobody'),
  running: count.describe('turns that run there'),
  startedAt: z.number(),
  until: z.number().describe('when its lease ends, unless it says more before'),
  alive: z.boolean(),
})
export type NodeView = z.infer<typeof NodeView>
export const Nodes = z.object({ nodes: z.array(NodeView) })
export type Nodes = z.infer<typeof Nodes>

const amounts = {
  input: count,
  output: count,
  cost: CostView.describe('beside the tokens'),
  estimated: z.boolean().describe('some of it was counted here, because the provider gave no numbers'),
}
export const TokenAmounts = z.object(amounts)
export type TokenAmounts = z.infer<typeof TokenAmounts>

export const Latency = z.object({
  count,
  medianMs: z.number(),
  p95Ms: z.number(),
  maxMs: z.number(),
  sumMs: z.number(),
  histogram: z
    .array(z.object({ toMs: z.number(), count }))
    .describe('each counts what took longer than the bound before, and at most `toMs`'),
})
export type Latency = z.infer<typeof Latency>

export const NumbersQuery = z.strictObject({
  since: z.coerce.number().int().min(0).optional().describe('milliseconds since 1970'),
})
export const Numbers = z
  .object({
    complete: z.boolean().describe('false while older events are still being counted'),
    upTo: z.string().describe('how far the log was counted'),
    end: z.string().describe('where it ends'),
    from: millis.nullable(),
    requests: count,
    turns: count,
    calls: count,
    refused: count,
    tokens: TokenAmounts,
    agents: z.array(
      z.object({
        name: z.string(),
        outcomes: z.record(z.string(), count).describe('of the calls to it'),
        tokens: TokenAmounts,
        latency: Latency.nullable().describe('of the calls to it'),
      }),
    ),
    models: z.array(z.object({ name: z.string(), ...amounts })),
    projects: z
      .array(z.object({ name: z.string(), ...amounts }))
      .describe('by the directory that the sessions work in'),
    days: z
      .array(z.object({ name: z.string(), ...amounts }))
      .describe('by the day in UTC, as 2026-11-17, the newest first'),
    prices: z
      .object({ table: z.string(), version: z.string(), date: z.string() })
      .describe('the table that prices come from, where nobody said them and the configuration has none'),
    context: z
      .object({ calls: count, passed: count, history: count })
      .describe("tokens that calls passed on, against all that their callers' conversations held then"),
    columns: z.array(
      z.object({ from: millis, widthMs: z.number(), calls: count, refused: count, tokens: count }),
    ),
  })
  .meta({ id: 'Numbers' })
export type Numbers = z.infer<typeof Numbers>
