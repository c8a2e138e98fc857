import { afterAll, expect, test } from 'vitest'
import { longestStall } from '../../../test/kits/linear.ts'
import type { Json } from '../../model/json.ts'
import type { SchemaCheck, Schemas } from '../../runtime/kernel/ports.ts'
import { inlineSchemas, workerSchemas } from './schemas.ts'

/** The time is real: where nothing is meant to run out, there is plenty, for machines that are busy. */
const patient = workerSchemas({ msMax: 15_000 })
const threaded = workerSchemas({ msMax: 500 })
afterAll(() => {
  void patient.close()
  void threaded.close()
})

const check = (schemas: Schemas, schema: Json, output: string | null): Promise<SchemaCheck> =>
  schemas.check(schema, output, { owner: 'flow_1', signal: new AbortController().signal })

test.each([
  ['in a thread', patient],
  ['in process', inlineSchemas],
] as const)(
  '%s: outputs are checked, fences are cut, what is no schema is refused',
  async (_where, schemas) => {
    const schema = {
      type: 'object',
      required: ['verdict'],
      properties: { verdict: { enum: ['pass', 'fail'] } },
    }
    expect(await check(schemas, schema, null)).toEqual({ kind: 'checked', problems: [] })
    expect(await check(schemas, schema, '```json\n{"verdict":"pass"}\n```')).toEqual({
      kind: 'checked',
      problems: [],
    })
    expect(await check(schemas, schema, '{}')).toEqual({
      kind: 'checked',
      problems: ["the output must have required property 'verdict'"],
    })
    expect(await check(schemas, schema, 'words')).toEqual({
      kind: 'checked',
      problems: ['the output is not JSON'],
    })
    expect(await check(schemas, { type: 'nothing' }, null)).toMatchObject({
      kind: 'refused',
      refusal: { code: 'bad_input', field: 'output_schema' },
    })
  },
)

test('a schema that answers with a promise is refused: it would let everything pass', async () => {
  for (const schemas of [patient, inlineSchemas]) {
    expect(await check(schemas, { $async: true, type: 'object' }, '"text"')).toMatchObject({
      kind: 'refused',
      refusal: { expected: expect.stringContaining('$async') },
    })
  }
})

/**
 * Two alternatives at every level of a schema that refers to itself: twice the work for each level of the
 * output.
 */
const branching = {
  $defs: {
    a: {
      anyOf: [
        { properties: { x: { $ref: '#/$defs/a' } }, required: ['no'] },
        { properties: { x: { $ref: '#/$defs/a' } }, required: ['no'] },
      ],
    },
  },
  $ref: '#/$defs/a',
}
const nested = `${'{"x":'.repeat(40)}1${'}'.repeat(40)}`

test.each([
  ['a pattern that backtracks for ever', { type: 'string', pattern: '^(a+)+$' }, `"${'a'.repeat(45)}!"`],
  ['alternatives inside a reference to itself', branching, nested],
])('%s ends as unfinished, within its time, and the main thread goes on', async (_name, schema, output) => {
  await check(threaded, { type: 'object' }, null)
  const stall = await longestStall(async () => {
    expect(await check(threaded, schema, output)).toMatchObject({
      kind: 'unfinished',
      why: expect.stringContaining('500 ms'),
    })
  })
  expect(stall).toBeLessThan(150)
  // Half a second may be too little for it too while the machine is busy.
  await expect
    .poll(() => check(threaded, { type: 'object' }, '{}'))
    .toEqual({ kind: 'checked', problems: [] })
})

test('hostile output does not hold up the check against a schema', async () => {
  const start = process.cpuUsage().user
  expect(await check(inlineSchemas, { type: 'object' }, `\`\`\`${'\n'.repeat(50_000)}`)).not.toMatchObject({
    problems: [],
  })
  expect((process.cpuUsage().user - start) / 1000).toBeLessThan(2000)
})
