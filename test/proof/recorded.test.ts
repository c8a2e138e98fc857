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

/** The same on every machine; first computed where it was recorded, with Node 24.21 on Linux. */
const recordedHashes = [
  'ec94a3fb2b5ed5ef6bbfdace8d460c8134be94f7f1a2ae95c4967fd641620674',
  '05579a6020d5a5082e62f02b2cfe34ab48eed110a42442a1513225f238bda01c',
  'bd58ecffca08b8e50a497949b052633a7f6ed54b46d9a1609746afd2111f3df9',
  'f98975b0c85522a3ba83c85d4e222a6ef6e1ffd049584519234a76e67c8d4000',
  'd4135c0d67a56233f4bbec3e2ab4b2b7c1c424edd49788d2a88f279a54c3db61',
  '02250a2a2c720e8082cf226af5e4a83d230af48e63ec59d2d5c02379d66feea8',
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
