/** How the last answer of a subagent is read, recorded and shown. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { flowOf, replayed } from '../../test/kits/replay.ts'
import { world, type World } from '../../test/kits/world.ts'
import type { Json } from '../model/json.ts'

type Answer = {
  success: boolean
  summary: string
  artifacts: { kind: string; value: string }[]
  error: string | null
  truncated: boolean
  correlation_id: string
}

async function delegate(
  output: string,
  input: Json = { task: 'look' },
  cwd?: string,
): Promise<{ w: World; answer: Answer; prompt: string }> {
  let answer: Json = null
  let prompt = ''
  const w = await world({
    agents: {
      boss: {
        script: async (turn) => {
          answer = (await turn.tool('subagent', input)).value
          return 'done'
        },
      },
      child: {
        script: (turn) => {
          prompt = turn.prompt
          return output
        },
      },
    },
    subagent: 'child',
  })
  await w.run('boss', 'go', cwd === undefined ? {} : { cwd })
  expect((await replayed(w, await flowOf(w))).difference).toBeNull()
  return { w, answer: answer as unknown as Answer, prompt }
}

test('the record of a subagent said completed where its answer was output_invalid', async () => {
  const { w, answer } = await delegate('{"summary":"x","artifacts":[{"kind":"image","value":"y"}]}')
  expect(answer.error).toMatch(/^output_invalid: .*artifact kind "image"/)
  const record = await w.desks.as({}).calls.get(answer.correlation_id)
  expect(record).toMatchObject({ outcome: 'failed', success: false, errors: [answer.error] })
})

test('a subagent was not told of { summary, artifacts }', async () => {
  const { prompt } = await delegate('done')
  expect(prompt).toContain('{"summary": "…", "artifacts": [{"kind": "note|path|diff|json", "value": "…"}]}')
})

test('a plain JSON answer of a subagent failed', async () => {
  expect((await delegate('{"answer":42}')).answer).toMatchObject({ success: true, summary: '{"answer":42}' })
  expect((await delegate('{ summary: oops')).answer).toMatchObject({
    success: true,
    summary: '{ summary: oops',
  })
})

test('fenced JSON of a subagent lost its artifacts', async () => {
  const fenced = '```json\n{"summary":"found","artifacts":[{"kind":"path","value":"a.ts"}]}\n```'
  expect((await delegate(fenced)).answer).toMatchObject({
    success: true,
    summary: 'found',
    artifacts: [{ kind: 'path', value: 'a.ts' }],
  })
})

test('an empty summary of a subagent was a success', async () => {
  const { w, answer } = await delegate('{"summary":" ","artifacts":[]}')
  expect(answer).toMatchObject({ success: false, error: 'empty_output: the run ended without an answer' })
  expect(await w.desks.as({}).calls.get(answer.correlation_id)).toMatchObject({ outcome: 'failed' })
})

test('what is shown of summary and artifacts together was twice what may be shown', async () => {
  const { w, answer } = await delegate(
    JSON.stringify({
      summary: 'word '.repeat(4000),
      artifacts: Array.from({ length: 20 }, (_, n) => ({
        kind: 'note',
        value: `${n} ${'thing '.repeat(500)}`,
      })),
    }),
  )
  const { count, limits } = w.node.runtime
  expect(count(JSON.stringify([answer.summary, answer.artifacts]))).toBeLessThanOrEqual(
    limits.resultShownTokens,
  )
  expect(answer.truncated).toBe(true)
  expect(answer.summary).toContain(`read_output with call_id "${answer.correlation_id}"`)
})

test('3,000 artifacts became 50 without a word', async () => {
  const artifacts = Array.from({ length: 3000 }, (_, n) => ({ kind: 'path', value: `file-${n}.ts` }))
  const { w, answer } = await delegate(JSON.stringify({ summary: 'all of them', artifacts }))
  expect(answer.truncated).toBe(true)
  expect(answer.summary).toMatch(/^all of them\n\[… \d+ of 3000 artifacts are not shown; read_output/)
  expect(w.node.runtime.count(JSON.stringify(answer))).toBeLessThanOrEqual(
    w.node.runtime.limits.resultShownTokens + 100,
  )
})

test('files of a subagent were not checked: outside is refused, missing is said', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'tieline-files-'))
  writeFileSync(join(cwd, 'here.ts'), '')
  const outside = await delegate('done', { task: 'look', files: ['../../etc/passwd'] }, cwd)
  expect(outside.answer).toMatchObject({ success: false, error: expect.stringMatching(/^files: /) as string })
  const { prompt } = await delegate(
    'done',
    { task: 'look', context: 'be quick', files: ['here.ts', 'gone.ts'] },
    cwd,
  )
  expect(prompt).toContain('Context: be quick\nFiles:\n- here.ts\n- gone.ts (missing)')
})
