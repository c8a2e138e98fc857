/**
 * One run as data: what is asked, what agents do, and what goes wrong. A plan can be written out, cut down
 * and run again.
 */
import { z } from 'zod'
import { DeskAct } from './desk-acts.ts'

const ms = z.number().int().min(0)

const CallAct = z.strictObject({
  tool: z.enum(['sub_agent', 'call_agent', 'subagent']),
  agent: z.number().int(),
  script: z.number().int(),
  timeoutMs: ms.optional(),
  maxTokens: z.number().int().optional(),
  allowed: z.array(z.string()).optional(),
  nested: z.boolean().optional(),
  background: z.boolean().optional(),
  lastMessages: z.number().int().optional(),
  summary: z.boolean().optional(),
  /** The answer must be JSON that nobody gives. */
  schema: z.boolean().optional(),
  maxContext: z.number().int().optional(),
})
export type CallAct = z.infer<typeof CallAct>

export const Act = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('think'),
    ms,
    tokens: z.number().int().min(0),
    lie: z.enum(['high', 'none']).optional(),
  }),
  /** Several calls are made side by side. */
  z.strictObject({ do: z.literal('call'), calls: z.array(CallAct) }),
  z.strictObject({
    do: z.literal('wait'),
    of: z.number().int(),
    seconds: z.number().int(),
    twice: z.boolean().optional(),
  }),
  z.strictObject({ do: z.literal('note') }),
  /** Writes to a main session, takes a message of its own inbox, or answers what it took. */
  z.strictObject({
    do: z.literal('mail'),
    what: z.enum(['send', 'take', 'reply']),
    to: z.number().int(),
    script: z.number().int(),
  }),
])
export type Act = z.infer<typeof Act>

/** How a driver ends: by the rules, or against them. */
export const Ending = z.enum(['answer', 'fail', 'empty', 'hang', 'deaf', 'late', 'twice'])
export type Ending = z.infer<typeof Ending>

const Script = z.strictObject({ acts: z.array(Act), end: Ending, lateMs: ms })
export type Script = z.infer<typeof Script>

export const Fault = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('crash'), at: ms, node: z.number().int(), ms }),
  /** Stopped in good order. */
  z.strictObject({ kind: z.literal('stop'), at: ms, node: z.number().int(), ms }),
  z.strictObject({ kind: z.literal('freeze'), at: ms, node: z.number().int(), ms }),
  z.strictObject({
    kind: z.literal('cut'),
    at: ms,
    node: z.number().int(),
    ms,
    how: z.enum(['hang', 'throw']),
  }),
  /** Slow disk: commits take longer. Delay: everything between the node and the store does. */
  z.strictObject({ kind: z.literal('slow'), at: ms, node: z.number().int(), ms, byMs: ms }),
  z.strictObject({ kind: z.literal('delay'), at: ms, node: z.number().int(), ms, byMs: ms }),
  z.strictObject({
    kind: z.literal('commit'),
    at: ms,
    node: z.number().int(),
    count: z.number().int(),
    how: z.enum(['failed', 'unknown']),
  }),
  /** The clock on the wall jumps, forwards or back, and later jumps back. */
  z.strictObject({
    kind: z.literal('clock'),
    at: ms,
    node: z.number().int(),
    ms,
    byMs: z.number().int(),
  }),
  /** Of the disk under the store, which all nodes share. */
  z.strictObject({
    kind: z.literal('disk'),
    at: ms,
    node: z.number().int(),
    ms,
    how: z.enum(['full', 'kept', 'lost', 'torn']),
  }),
  /** Stopped or killed, and started again with a program that knows this format of the log. */
  z.strictObject({
    kind: z.literal('version'),
    at: ms,
    node: z.number().int(),
    ms,
    how: z.enum(['crash', 'stop']),
    format: z.number().int(),
  }),
  z.strictObject({
    kind: z.literal('hints'),
    at: ms,
    node: z.number().int(),
    ms,
    how: z.enum(['lost', 'late', 'doubled']),
  }),
])
export type Fault = z.infer<typeof Fault>

const Root = z.strictObject({
  at: ms,
  node: z.number().int(),
  /** The main session of an agent, or a new one. */
  agent: z.number().int(),
  main: z.boolean(),
  script: z.number().int(),
  timeoutMs: ms.optional(),
  maxTokens: z.number().int().optional(),
  /** A client cancels it this long after it was sent. */
  cancelAfterMs: ms.optional(),
  cancelNode: z.number().int().optional(),
})
export type Root = z.infer<typeof Root>

/** What clients outside do with mail. */
export const MailAct = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('send'),
    at: ms,
    node: z.number().int(),
    to: z.number().int(),
    id: z.number().int(),
    script: z.number().int(),
    /** Kept as a draft, which a person then releases. */
    draft: z.boolean().optional(),
    /** Sent again with the same id, after so long, on the next node. */
    againMs: ms.optional(),
  }),
  z.strictObject({
    do: z.literal('accept'),
    at: ms,
    node: z.number().int(),
    of: z.number().int(),
    id: z.number().int().optional(),
    newest: z.boolean().optional(),
    /** Somebody else does the same at the same moment, on the next node. */
    twin: z.boolean().optional(),
  }),
])
export type MailAct = z.infer<typeof MailAct>

export const Plan = z.strictObject({
  seed: z.number().int(),
  kind: z.string(),
  nodes: z.number().int(),
  /** The longest way to the store and back, each way. */
  latencyMs: ms,
  /** Whether works overlap in the store, or run one after another. */
  overlap: z.boolean().default(false),
  /** Whether each node has a clock of its own, which is not the store's. */
  ownClocks: z.boolean().default(false),
  limits: z.record(z.string(), z.number()),
  roots: z.array(Root),
  scripts: z.array(Script),
  faults: z.array(Fault),
  mail: z.array(MailAct).default([]),
  desk: z.array(DeskAct).default([]),
})
export type Plan = z.infer<typeof Plan>
