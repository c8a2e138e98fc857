/**
 * One life of a process for `third-run.test.ts`: an agent that never gets past "poison". Says what runs and
 * what became of it.
 */
import { exchangeOf } from '../kits/askers.ts'
import { openLine } from '../../src/open-line.ts'

const [dataDir = '', task] = process.argv.slice(2)

const line = await openLine({
  dataDir,
  agents: {
    clerk: {
      script: async (turn) => {
        if (turn.task !== 'poison') return 'fine'
        console.log('running')
        return new Promise<string>((_resolve, reject) =>
          turn.signal.addEventListener('abort', () => reject(turn.signal.reason as Error)),
        )
      },
    },
  },
})
process.once('SIGTERM', () => void line.close().then(() => process.exit(0)))

const session = 'ses_clerk' as const
if (task === 'poison')
  await exchangeOf(line.desks).createSession(
    { kind: 'user' },
    {
      cwd: process.cwd(),
      agent: 'clerk',
      model: null,
      title: '',
      parent: null,
      initialMessage: null,
      id: 'clerk',
      trace: null,
    },
  )
exchangeOf(line.desks).subscribe(
  0,
  { sessions: null },
  {
    events: (events) => {
      for (const { event } of events)
        if (event.type === 'turn.ended' && event.outcome !== 'completed')
          console.log(`ended ${event.outcome} ${event.error ?? ''}`)
    },
    delta: () => undefined,
  },
)
if (task !== undefined) {
  const answer = await line.desks
    .as({})
    .agents.ask(session, task)
    .catch(() => null)
  if (answer !== null && !('code' in answer)) console.log(`answered ${answer.ended.output}`)
  process.exit(0)
}
