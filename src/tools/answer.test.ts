import { expect, test } from 'vitest'
import { z } from 'zod'
import { answered, Text, workspaceTool } from './answer.ts'
import { makeWorkspace, refusalIn } from './workspace-contract.ts'

const failing = (error: unknown) =>
  workspaceTool({
    name: 'failing',
    effect: 'read',
    description: '',
    input: z.strictObject({ path: z.string() }),
    run: () => Promise.reject(error),
  })

test('what the disk declines because of a path is a refusal that names it', async () => {
  const { context } = await makeWorkspace()
  const answer = await failing(Object.assign(new Error('EACCES: …'), { code: 'EACCES' })).run(
    { path: 'a' },
    context(),
  )
  expect(refusalIn(answer)).toContain(
    'path: \\"a\\" was given, but it must be a path that this process may use',
  )
})

test('a full disk and a bug are faults, thrown as they are', async () => {
  const { context } = await makeWorkspace()
  const full = Object.assign(new Error('disk full'), { code: 'ENOSPC' })
  await expect(failing(full).run({ path: 'a' }, context())).rejects.toBe(full)
  const bug = new TypeError('bug')
  await expect(failing(bug).run({ path: 'a' }, context())).rejects.toBe(bug)
})

test('fields with a default are optional in the schema that a model sees', async () => {
  const { context } = await makeWorkspace()
  const tool = workspaceTool({
    name: 'echo',
    effect: 'read',
    description: 'd',
    input: z.strictObject({ text: Text, times: z.int().min(1).default(1) }),
    run: async (input) => answered(input.text.repeat(input.times)),
  })
  expect(tool.describe(context())).toEqual({
    name: 'echo',
    description: 'd',
    input: {
      type: 'object',
      properties: { text: { type: 'string' }, times: { type: 'integer', default: 1, minimum: 1 } },
      required: ['text'],
      additionalProperties: false,
    },
  })
  expect(await tool.run({ text: 'a' }, context())).toEqual({ ok: true, value: 'a' })
  expect(refusalIn(await tool.run({ text: 'a', times: 0 }, context()))).toContain('times: 0 was given')
  expect(refusalIn(await tool.run({}, context()))).toContain('text is missing')
})

test('half of a surrogate pair is no text', () => {
  expect(Text.safeParse('\ud83d').success).toBe(false)
  expect(Text.safeParse('😀').success).toBe(true)
})
