/** Scripts as data: rules instead of a model. The first rule that fits answers. */
import { z } from 'zod'
import { Json } from '../../model/json.ts'
import { templateProblem } from './template.ts'

/** A text is searched for as it is; a regex is as JavaScript reads it. */
const Matcher = z.union([
  z.string().min(1),
  z.strictObject({ contains: z.string().min(1) }),
  z
    .strictObject({
      regex: z.string().min(1),
      flags: z
        .string()
        .regex(/^[imsu]*$/, 'flags out of "imsu"')
        .default('u'),
    })
    .refine(({ regex, flags }) => compiles(regex, flags), {
      path: ['regex'],
      message: 'a regular expression of JavaScript',
    }),
])
export type Matcher = z.infer<typeof Matcher>

const Template = z.string().check((context) => {
  addProblem(context, templateProblem(context.value))
})

const TemplateJson = Json.check((context) => {
  addProblem(context, findProblem(context.value))
})

function addProblem({ issues, value }: z.core.ParsePayload<unknown>, problem: string | null): void {
  if (problem !== null) issues.push({ code: 'custom', message: problem, input: value })
}

export const Rule = z
  .strictObject({
    /** All that is given must fit; without it the rule always fits. */
    when: z
      .strictObject({
        task: Matcher.optional(),
        prompt: Matcher.optional(),
        /** Text of the last tool result; JSON as text. */
        result: Matcher.optional(),
        ok: z.boolean().optional(),
        /** Counts from 1. */
        iteration: z.number().int().min(1).optional(),
        /** The tool whose result came last. */
        tool: z.string().min(1).optional(),
      })
      .optional(),
    say: Template.optional(),
    tools: z
      .array(z.strictObject({ name: z.string().min(1), input: TemplateJson.default({}) }))
      .max(64)
      .optional(),
    delayMs: z.number().min(0).optional(),
    fail: Template.optional(),
    /** Never answers: ends by the deadline or a cancel. */
    hang: z.literal(true).optional(),
  })
  .refine(
    (rule) =>
      rule.say !== undefined || rule.tools !== undefined || rule.fail !== undefined || rule.hang === true,
    'at least one of say, tools, fail and hang',
  )
export type Rule = z.infer<typeof Rule>

export const Script = z.array(Rule).max(1000)
export type Script = z.infer<typeof Script>

/** What the rules look at. `results` are those of the last round, oldest first. */
export type ScriptState = {
  agent: string
  task: string
  prompt: string
  input: Json
  iteration: number
  results: readonly { name: string; ok: boolean; value: Json }[]
}

export type CompiledRule = { rule: Rule; fits: (state: ScriptState) => boolean }

/** Regular expressions are made once per script, not once per turn. */
export const compileScript = (script: Script): CompiledRule[] =>
  script.map((rule) => ({ rule, fits: compileWhen(rule) }))

function compileWhen(rule: Rule): (state: ScriptState) => boolean {
  const when = rule.when
  if (when === undefined) return () => true
  const task = compileMatcher(when.task)
  const prompt = compileMatcher(when.prompt)
  const result = compileMatcher(when.result)
  return (state) => {
    const last = state.results.at(-1)
    if (when.iteration !== undefined && when.iteration !== state.iteration) return false
    if (when.tool !== undefined && when.tool !== last?.name) return false
    if (when.ok !== undefined && when.ok !== last?.ok) return false
    if (task !== null && !task(state.task)) return false
    if (prompt !== null && !prompt(state.prompt)) return false
    return result === null || (last !== undefined && result(renderStep(last.value)))
  }
}

function compileMatcher(matcher: Matcher | undefined): ((text: string) => boolean) | null {
  if (matcher === undefined) return null
  if (typeof matcher === 'string') return (text) => text.includes(matcher)
  if ('contains' in matcher) return (text) => text.includes(matcher.contains)
  const regex = new RegExp(matcher.regex, matcher.flags)
  return (text) => regex.test(text)
}

export const renderStep = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

function compiles(source: string, flags: string): boolean {
  try {
    new RegExp(source, flags)
    return true
  } catch {
    return false
  }
}

function findProblem(value: Json): string | null {
  if (typeof value === 'string') return templateProblem(value)
  const parts = value === null || typeof value !== 'object' ? [] : Object.values(value)
  return parts.map(findProblem).find((problem) => problem !== null) ?? null
}
