/**
 * Clients check an answer against the schema that its tool was listed with, and show nothing but "does not
 * match" where it fails: every refusal of every tool must pass.
 */
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { refusalSamples } from '../../../test/kits/refusal-samples.ts'
import { completeAnswer, refuseTool } from '../../tools/refused-answer.ts'
import type { ToolName } from '../../wire/tools.ts'
import { toToolResult } from './server-answers.ts'
import { outputSchemas } from './server-tools.ts'

const ajv = new Ajv({ strict: false, allErrors: true })
const inputs = [
  {},
  { agent_name: 'a', agent_id: 'a', call_id: 'call_1', sessionId: 'ses_1', id: 'm' },
  { accept: true },
  null,
  7,
]

test.each(Object.keys(outputSchemas()) as ToolName[])(
  'every refusal of %s satisfies its output schema',
  (name) => {
    const validate = ajv.compile(outputSchemas()[name] as object)
    const broken = refusalSamples.flatMap((refusal) =>
      inputs.flatMap((input) => {
        const { structuredContent, isError } = toToolResult(refuseTool(name, input, refusal))
        expect(isError).toBe(true)
        return validate(structuredContent) ? [] : [`${refusal.code}: ${ajv.errorsText(validate.errors)}`]
      }),
    )
    expect(broken).toEqual([])
  },
)

test.each(Object.keys(outputSchemas()) as ToolName[])(
  'what %s answers when the turn of its client was stopped satisfies its output schema',
  (name) => {
    const validate = ajv.compile(outputSchemas()[name] as object)
    for (const code of ['cancelled', 'timed_out', 'lost', 'failed', 'budget_exhausted']) {
      const stopped = { ok: false, value: { error: { code, message: `${code}: the turn was stopped` } } }
      const { structuredContent } = toToolResult(completeAnswer(name, { call_id: 'call_1' }, stopped))
      expect([validate(structuredContent), ajv.errorsText(validate.errors)]).toEqual([true, 'No errors'])
      expect(JSON.stringify(structuredContent)).toContain('the turn was stopped')
    }
  },
)

test.each(['call_agent', 'subagent'] as const)(
  'what %s had called when the turn of its client was stopped can be looked up',
  (name) => {
    const error = { code: 'cancelled', message: 'cancelled: the turn was stopped', call_id: 'call_2' }
    const { value } = completeAnswer(name, {}, { ok: false, value: { error } })
    expect(value).toMatchObject({ [name === 'call_agent' ? 'call_id' : 'correlation_id']: 'call_2' })
  },
)
