import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nodePorts } from './cluster.ts'
import { Agent } from './model/agent.ts'
import { systemClock } from './runtime/kernel/system-clock.ts'
import type { PostgresStore } from './store/postgres/postgres.ts'

const agent = (runsOn?: string): Agent => Agent.parse({ name: 'a', runsOn })

test('a node runs what has its label, or none, and works in a directory that is there', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-place-'))
  let elapsed = 0
  const clock = { ...systemClock, elapsed: () => elapsed }
  const cluster = {} as PostgresStore
  const { place } = nodePorts({ cluster, clock, settings: { labels: ['gpu'] } }, undefined)
  expect(place?.mayRun(agent(), directory)).toBe(true)
  expect(place?.mayRun(agent('gpu'), directory)).toBe(true)
  expect(place?.mayRun(agent('arm'), directory)).toBe(false)
  expect(place?.mayRun(agent(), join(directory, 'elsewhere'))).toBe(false)
  rmSync(directory, { recursive: true })
  elapsed += 10_000
  expect(place?.mayRun(agent(), directory)).toBe(false)
})

test('where nobody shares the store, every turn may run here', () => {
  expect(nodePorts({ cluster: null, clock: systemClock, settings: undefined }, undefined)).toEqual({})
})
