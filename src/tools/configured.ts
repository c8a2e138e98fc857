/**
 * What the configuration says about tools, applied to all of them in one place: which there are, what their
 * parameters are by default, and which nobody may set.
 */
import { externalAgent } from '../model/agent.ts'
import { allowsTool, fullAuthority } from '../model/authority.ts'
import type { SessionRow, TurnRow } from '../model/facts.ts'
import { isRecord, type Json } from '../model/json.ts'
import { findNearest } from '../model/nearest.ts'
import { badInput, isRefusal, type Refusal } from '../model/refusal.ts'
import { table } from '../model/table.ts'
import type { Tool, ToolAnswer, ToolContext } from '../runtime/kernel/ports.ts'
import { refused } from './answer.ts'
import type { ToolSpec } from '../wire/tools.ts'

type Parameters = Readonly<Record<string, Readonly<Record<string, Json>>>>
export type ToolSettings = {
  /** Patterns of names. */
  enable: readonly string[]
  defaults: Parameters
  locked: Parameters
}

export const toolSettingsDefault: ToolSettings = { enable: ['*'], defaults: {}, locked: {} }

export const configuredTools = (tools: readonly Tool[], settings: ToolSettings): Tool[] =>
  tools.map((tool) => configured(tool, settings))

/** A tool of which nothing is said stays as it is. */
export function configured(tool: Tool, { enable, defaults, locked }: ToolSettings): Tool {
  const on = allowsTool(enable, tool.name)
    ? tool
    : { ...tool, disabled: 'it is not enabled in the configuration' }
  const [byDefault, fixed] = [table(defaults)[tool.name] ?? {}, table(locked)[tool.name] ?? {}]
  if (Object.keys(byDefault).length + Object.keys(fixed).length === 0) return on
  const settle = (input: Json): { input: Json } | Refusal => {
    if (!isRecord(input)) return { input }
    const set = Object.keys(fixed).find((name) => Object.hasOwn(input, name))
    return set === undefined
      ? { input: { ...byDefault, ...input, ...fixed } }
      : badInput(set, input[set], 'nothing, because the configuration fixes it')
  }
  return {
    ...on,
    settle,
    describe: (turn) => described(tool.describe(turn), byDefault, fixed),
    run(input, context) {
      const settled = settle(input)
      return isRefusal(settled) ? no(tool, settled, input, context) : tool.run(settled.input, context)
    },
  }
}

const no = (tool: Tool, refusal: Refusal, input: Json, context: ToolContext): Promise<ToolAnswer> =>
  tool.refuse?.(refusal, input, context) ?? Promise.resolve(refused(refusal))

/** A locked parameter is not shown; one with a default need not be given. */
function described(
  spec: ToolSpec,
  byDefault: Readonly<Record<string, Json>>,
  fixed: Readonly<Record<string, Json>>,
): ToolSpec {
  if (!isRecord(spec.input) || !isRecord(spec.input['properties'])) return spec
  const shown = Object.entries(spec.input['properties']).filter(([name]) => !Object.hasOwn(fixed, name))
  const properties = Object.fromEntries(
    shown.map(([name, schema]) => [
      name,
      Object.hasOwn(byDefault, name) && isRecord(schema)
        ? { ...schema, default: byDefault[name] as Json }
        : schema,
    ]),
  )
  const required = Array.isArray(spec.input['required'])
    ? spec.input['required'].filter(
        (name) => typeof name === 'string' && !Object.hasOwn(fixed, name) && !Object.hasOwn(byDefault, name),
      )
    : null
  return { ...spec, input: { ...spec.input, properties, ...(required === null ? {} : { required }) } }
}

/**
 * What the settings say that cannot be meant, one sentence each: names that no tool and no parameter has, with
 * the nearest, and values that a parameter does not take. Tools of servers outside cannot be known here:
 * `isForeign` tells their names.
 */
export function findSettingProblems(
  tools: readonly Tool[],
  { enable, defaults, locked }: ToolSettings,
  isForeign: (name: string) => boolean,
): string[] {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const names = [...byName.keys()]
  const unknown = enable.flatMap((pattern, at) =>
    isForeign(pattern) || names.some((name) => allowsTool([pattern], name))
      ? []
      : [`tools.enable[${at}]: there is no tool "${pattern}"; ${findNearest(pattern, names)}.`],
  )
  const wrong = Object.entries({ defaults, locked }).flatMap(([kind, settings]) =>
    Object.entries(settings).flatMap(([name, parameters]): string[] => {
      const path = `tools.${kind}.${name}`
      const tool = byName.get(name)
      if (tool !== undefined) return findParameterProblems(path, listParameters(tool), parameters)
      return isForeign(name) ? [] : [`${path}: there is no tool "${name}"; ${findNearest(name, names)}.`]
    }),
  )
  return [...unknown, ...wrong]
}

const findParameterProblems = (
  path: string,
  known: Readonly<Record<string, Json>>,
  given: Readonly<Record<string, Json>>,
): string[] =>
  Object.entries(given).flatMap(([name, value]) => {
    const schema = table(known)[name]
    if (schema === undefined)
      return [`${path}.${name}: unknown key; ${findNearest(name, Object.keys(known))}.`]
    return fits(schema, value)
      ? []
      : [`${path}.${name}: ${JSON.stringify(value)} was given, but ${describeType(schema)} is needed.`]
  })

/** As far as a type, a list of values or a choice of those decide; the tool itself checks the rest. */
function fits(schema: Json, value: Json): boolean {
  if (!isRecord(schema)) return true
  const choices = schema['anyOf']
  if (Array.isArray(choices)) return choices.some((choice) => fits(choice, value))
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(value)
  if (schema['const'] !== undefined) return schema['const'] === value
  const types = [schema['type'] ?? []].flat()
  const isOf = (type: Json): boolean =>
    type === 'integer'
      ? Number.isInteger(value)
      : type === 'array'
        ? Array.isArray(value)
        : type === 'object'
          ? isRecord(value)
          : type === 'null'
            ? value === null
            : typeof value === type
  return types.length === 0 || types.some(isOf)
}

const typeWords: Readonly<Record<string, string>> = {
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  string: 'a text',
  array: 'a list',
  object: 'a table',
  null: 'null',
}

function describeType(schema: Json): string {
  if (!isRecord(schema)) return 'another value'
  const choices = schema['anyOf']
  if (Array.isArray(choices)) return [...new Set(choices.map(describeType))].join(' or ')
  if (Array.isArray(schema['enum'])) return schema['enum'].map((one) => JSON.stringify(one)).join(' or ')
  return [schema['type'] ?? []]
    .flat()
    .map((type) => (typeof type === 'string' && typeWords[type]) || 'another value')
    .join(' or ')
}

/** As a tool describes itself where everything is allowed. */
function listParameters(tool: Tool): Readonly<Record<string, Json>> {
  const grant = {
    agent: externalAgent.name,
    depth: 0,
    subagentDepth: 0,
    path: [],
    authority: fullAuthority,
    tokensMax: null,
    maxIterations: 1,
  }
  const turn: Partial<TurnRow> = { id: 'turn_none', session: 'ses_none', grant }
  const session: Partial<SessionRow> = { id: 'ses_none', cwd: '/' }
  const { input } = tool.describe({
    turn: turn as TurnRow,
    session: session as SessionRow,
    agent: externalAgent,
    callable: [],
  })
  return isRecord(input) && isRecord(input['properties']) ? input['properties'] : {}
}
