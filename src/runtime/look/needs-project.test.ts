import { expect, test } from 'vitest'
import { explain } from '../../model/refusal.ts'
import { explainUntrusted } from '../../model/untrusted.ts'
import { toProject } from './needs.ts'

const file = '/work/api/tieline.toml'
const problem = 'agents.x.tools: there is no tool "raed"; the nearest known one is "read"'

test('a file with a mistake sent people to "tieline trust", which had nothing to ask', () => {
  const broken = { file, state: 'broken', agents: [], problem } as const
  expect(toProject(broken)).toMatchObject({
    title: `${file} is not used: it has a mistake`,
    text: `${problem}\nCorrect it. It counts from the next call on.`,
    acts: [],
  })
  const refused = explain({ code: 'project_untrusted', agent: 'x', file, why: explainUntrusted(broken) })
  expect(refused).toContain('Tell the user to correct it')
  expect(refused).not.toContain('tieline trust')
})

test('one that nobody has agreed to is a question of trust', () => {
  const found = { file, state: 'new', agents: ['x'], problem: null } as const
  expect(toProject(found)).toMatchObject({ acts: ['trust'] })
  expect(toProject(found).text).toContain('tieline trust /work/api')
})
