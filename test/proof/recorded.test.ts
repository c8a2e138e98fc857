/**
 * A log that was recorded on another machine replays here with the same hash: `npm start` was exported there,
 * and is in the repository.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AgentOptions } from '../../src/define.ts'
import { demoAgents } from '../../src/cli/demo/agents.ts'
import { openLog } from '../../src/recorded-log.ts'

const file = join(import.meta.dirname, '../recorded', 'three-agents.jsonl')

/** What the replay said where it was recorded: Node 24.21 on Linux. */
const recordedHashes = [
  'c9c6f48464845dfbe9cf8c1842d524585ea02490419dd11248b01221789b06e2',
  '71c4390dbb150b7336142836e8ece48077e3913b71aef670c83b335ca75fffa6',
  'fb0ecbf5aeb3da1e0553b2b15c032cfe0565374c1438443ad7f34b0ec18b1e82',
  '674832aa76cc5bf1704db339aca8ea680bff97d06fc5c393ce9e64cafc76b217',
  'ba95c2e117f23bee6987da25c42c3797f116dfb69a60f60b399216623d57aa24',
  '5751613c322deab48a0e0ec310d726610491360098083cdfc562972ff86186e4',
]

test('the three agents of the demo, recorded elsewhere, do the same again here', async () => {
  const log = await openLog({
    dataDir: ':memory:',
    from: readFileSync(file, 'utf8'),
    agents: demoAgents(0) as unknown as Record<string, AgentOptions>,
  })
  const flows = new Set<string>()
  for (const session of await log.sessions(100)) {
    if (session.kind === 'ephemeral') continue
    for (const { event } of await log.events(session.id))
      if (event.type === 'message.sent') flows.add(event.flow)
  }
  const replays = await Promise.all([...flows].toSorted().map((flow) => log.replay(flow)))
  await log.close()
  expect(replays.map(({ difference }) => difference)).toEqual(replays.map(() => null))
  expect(replays.length).toBeGreaterThan(1)
  expect(replays.map(({ hash }) => hash)).toEqual(recordedHashes)
})
