/** The keys of a configuration file, with their shapes and defaults. */
import { z } from 'zod'
import { Agent, AgentName, Label, SandboxMode } from './model/agent.ts'
import { Json } from './model/json.ts'
import { Limits } from './model/limits.ts'
import { OwnPrices } from './model/own-price.ts'
import { WakeSettings } from './model/wake.ts'

const Server = z.strictObject({
  port: z.number().int().min(0).max(65_535).default(8283),
  host: z.string().min(1).default('127.0.0.1'),
  dataDir: z.string().min(1).default('~/.local/share/tieline'),
  auth: z.enum(['auto', 'on', 'off']).default('auto'),
  sandbox: SandboxMode.default('auto'),
})

/** The database's address is in a variable and never in a file: it has a password in it. */
const StoreSettings = z.strictObject({
  engine: z.enum(['sqlite', 'postgres']).default('sqlite'),
  urlEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable, never the address itself,')
    .default('TIELINE_DATABASE_URL'),
  /** 0 keeps everything in the log. */
  segmentAfterDays: z.number().min(0).max(36_500).default(30),
})
export type StoreSettings = z.infer<typeof StoreSettings>

/** This machine in a cluster. */
const NodeSettings = z.strictObject({
  name: z.string().min(1).max(64).optional(),
  labels: z.array(Label).default([]),
})
export type NodeSettings = z.infer<typeof NodeSettings>

export const Provider = z.strictObject({
  kind: z.enum(['anthropic', 'openai', 'google', 'openai-compatible']),
  baseURL: z.url().optional(),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable, never the key itself,')
    .optional(),
})
export type Provider = z.infer<typeof Provider>

const ProviderName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'letters, digits, "_", "-" and "."')

/** An agent as it is written: without its name, with two older spellings and the script for its driver. */
export const AgentEntry = Agent.omit({ name: true }).extend({
  tools: z.array(z.string().min(1)).optional(),
  allowSubAgentCalls: z.boolean().optional(),
  maxDepth: z.number().int().min(0).optional(),
  allow_sub_agent_calls: z.boolean().optional(),
  max_sub_agent_depth: z.number().int().min(0).optional(),
  script: z.unknown().optional(),
})
export type AgentEntry = z.infer<typeof AgentEntry>

const ToolParameters = z.record(z.string(), z.record(z.string(), Json))

export const ConfigFile = z.strictObject({
  server: Server.prefault({}),
  store: StoreSettings.prefault({}),
  node: NodeSettings.prefault({}),
  providers: z.record(ProviderName, Provider).default({}),
  agents: z.record(AgentName, AgentEntry).default({}),
  limits: Limits.prefault({}),
  prices: OwnPrices.default({}),
  subagent: z
    .strictObject({
      agent: z.string().min(1).optional(),
      artifactKinds: z
        .array(z.enum(['note', 'path', 'diff', 'json']))
        .default(['note', 'path', 'diff', 'json']),
    })
    .prefault({}),
  tools: z
    .strictObject({
      enable: z
        .union([z.boolean(), z.array(z.string().min(1))])
        .transform((enable) => (enable === true ? ['*'] : enable === false ? [] : enable))
        .default(['*']),
      defaults: ToolParameters.default({}),
      locked: ToolParameters.default({}),
    })
    .prefault({}),
  mail: z
    .strictObject({
      storage: z.enum(['sqlite', 'agentfs', 'files']).default('sqlite'),
      directory: z.string().min(1).default('~/.local/share/opencode/storage/call-response'),
      cdc: z.boolean().default(true),
      release: z.enum(['agents', 'person']).default('agents'),
    })
    .prefault({}),
  import: z.strictObject({ agents: z.array(z.string().min(1)).default([]) }).prefault({}),
  wake: WakeSettings.prefault({}),
  notify: z
    .strictObject({
      command: z
        .array(z.string().min(1))
        .min(1)
        .refine(
          ([program = '']) => !/\{(title|text|link)\}/.test(program),
          'a program that is no placeholder',
        )
        .optional(),
    })
    .prefault({}),
  tracing: z.strictObject({ enable: z.boolean().default(true) }).prefault({}),
  sandbox: z
    .strictObject({
      network: z.enum(['none', 'public', 'any']).default('public'),
      writable: z.array(z.string().min(1)).default([]),
      hidden: z.array(z.string().min(1)).default([]),
    })
    .prefault({}),
})
