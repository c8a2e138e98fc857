/** A named definition: prompt, driver, tools, limits, and whom it may call. */
import { z } from 'zod'

export const AgentName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/,
    'letters, digits, "_", "-" and ".", at most 64, starting with a letter or digit',
  )
export type AgentName = z.infer<typeof AgentName>

export const McpServer = z.union([
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: z.record(z.string(), z.string()).default({}),
    repeatable: z.array(z.string()).default([]),
  }),
  z.strictObject({
    url: z.url(),
    headers: z.record(z.string(), z.string()).default({}),
    repeatable: z.array(z.string()).default([]),
  }),
])
export type McpServer = z.infer<typeof McpServer>

/** `auto`: where this machine has one. `required`: nothing is started without one. */
export const SandboxMode = z.enum(['auto', 'required', 'off'])
export type SandboxMode = z.infer<typeof SandboxMode>

/** What a machine of a cluster is for, such as `gpu`. */
export const Label = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'letters, digits, "_", "-" and "."')

export const AgentLimits = z.strictObject({
  timeoutSeconds: z.number().min(0).optional(),
  maxIterations: z.number().int().min(1).optional(),
  maxTokens: z.number().int().min(0).optional(),
  maxUsd: z.number().min(0).optional(),
})

/** Agents that people already have; `src/adapters/acp/presets.ts` says how each is driven. */
export const PresetName = z.enum(['claude', 'codex', 'opencode', 'copilot', 'gemini'])
export type PresetName = z.infer<typeof PresetName>

/** What becomes of what a driven agent asks leave for. `readonly`: what only reads is allowed. */
export const Permissions = z.enum(['ask', 'allow', 'deny', 'readonly'])
export type Permissions = z.infer<typeof Permissions>

/** `plan`: variables with keys are kept from it, so that it bills what the user is logged in to. */
export const Billing = z.enum(['plan', 'key'])
export type Billing = z.infer<typeof Billing>

/** The driver of agents that keep their own loop. */
export const drivenDriver = 'acp'

export const Agent = z.strictObject({
  name: AgentName,
  /** What people call it, where its name is an id. */
  title: z.string().optional(),
  description: z.string().default(''),
  prompt: z.string().default(''),
  driver: z.string().min(1).default('model'),
  model: z.string().optional(),
  /** Of the driver `acp`: one of the agents that we know, or the command of any other. */
  preset: PresetName.optional(),
  command: z.array(z.string().min(1)).min(1).optional(),
  billing: Billing.optional(),
  permissions: Permissions.optional(),
  tools: z.array(z.string().min(1)).default([]),
  ask: z.array(z.string().min(1)).default([]),
  allowSubAgentCalls: z.boolean().default(false),
  /** Names as calls use them: an agent's own, or its title where a door made it. */
  mayCall: z.array(z.string()).optional(),
  maxDepth: z.number().int().min(0).default(5),
  /** Who does its work where it is over its limit, logged out or down, before anything was begun. */
  fallback: z.array(z.string().min(1)).min(1).max(8).optional(),
  /** Whether agents of other projects may call it, as "project/name". */
  shared: z.boolean().optional(),
  limits: AgentLimits.default({}),
  /** For the programs that it starts; left out, as the server says. */
  sandbox: SandboxMode.optional(),
  /** Only nodes with this label run it; left out, all do. */
  runsOn: Label.optional(),
  mcpServers: z
    .record(z.string().regex(/^[A-Za-z0-9-]{1,32}$/, 'letters, digits and "-", at most 32'), McpServer)
    .default({}),
})
export type Agent = z.infer<typeof Agent>

export const isDriven = ({ driver }: Pick<Agent, 'driver'>): boolean => driver === drivenDriver

/** Agents that a door made have ids for names. */
export const isMadeName = (name: string): boolean => name.startsWith('agent_')

/** Clients at a door act as a session of this agent: it may call, and is never run. */
export const externalAgent: Agent = Agent.parse({
  name: 'external',
  description: 'A client outside',
  driver: 'none',
  tools: ['*'],
  allowSubAgentCalls: true,
  maxDepth: 64,
})

export const mayCallAgent = (
  caller: Agent,
  { name, title }: { name: string; title?: string | undefined },
): boolean =>
  caller.allowSubAgentCalls &&
  (caller.mayCall === undefined ||
    caller.mayCall.includes(name) ||
    (title !== undefined && caller.mayCall.includes(title)))
