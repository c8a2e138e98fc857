import { expect, test } from 'vitest'
import { flowOf, replayed } from '../../../test/kits/replay.ts'
import { world } from '../../../test/kits/world.ts'

const passSummary = (task: string) => ({
  agent_name: 'coder',
  task,
  context: { include_summary: true },
})

test('a flow that used include_summary replays as the same', async () => {
  const w = await world({
    agents: {
      planner: {
        script: async (turn) => {
          if (turn.task === 'first') return 'We decided to use tabs.'
          // As a model does: it answers first, and that answer is recorded before the summary is written.
          await turn.think('I ask the coder.')
          const answers = await Promise.all(
            ['indent it', 'format it'].map((task) => turn.tool('sub_agent', passSummary(task))),
          )
          return turn.think(JSON.stringify(answers.map(({ value }) => value)))
        },
      },
      coder: { script: (turn) => `done ${turn.task}` },
    },
  })
  const run = await w.run('planner', 'first')
  await w.run('planner', 'second', { session: run.session as `ses_${string}` })
  const result = await replayed(w, await flowOf(w))
  expect(result.difference).toBeNull()
  expect((await w.events('step.ended')).filter(({ event }) => event.kind === 'summary')).toHaveLength(1)
})
