import { expect, test } from 'vitest'
import { virtualClock } from '../../test/kits/world.ts'
import type { Need } from '../wire/needs.ts'
import { notifyView } from './notify.ts'

test('a project that waits for trust is announced where it was found while the server ran', async () => {
  const clock = virtualClock()
  const [ran, needs]: [string[], Need[]] = [[], []]
  const project = (id: string): Need => ({
    kind: 'project',
    id,
    at: clock.now(),
    title: id,
    agent: '',
    session: null,
    turn: null,
    flow: null,
    cwd: id,
    task: '',
    request: '',
    path: [],
    lastWords: '',
    tool: null,
    input: null,
    text: '',
    to: null,
    version: null,
    outcome: null,
    deadline: null,
    acts: ['trust'],
  })
  needs.push(project('/before'))
  const view = notifyView({
    command: ['ring', '{title}'],
    needs: async () => [...needs],
    link: () => 'http://here/',
    mask: (text) => text,
    run: async ([, title = '']) => (ran.push(title), null),
    clock,
    warn: (text) => expect(text).toBe(''),
  })
  const look = async (): Promise<void> => {
    for (let n = 0; n < 5; n += 1) {
      clock.tick()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await look()
  needs.push(project('/found'))
  view.events([{ seq: 1, at: 0, event: { type: 'call.refused' } as never }])
  await look()
  expect(ran).toEqual(['/found'])
  await view.close()
})
