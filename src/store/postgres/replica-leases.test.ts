import { expect, test } from 'vitest'
import { openReplica } from './replica.ts'

test('of a node whose lease the log no longer has a replica knows none', () => {
  const replica = openReplica({ directory: ':memory:', log: 'log_1', onDamage: () => undefined })
  const leases = () => replica.reader.prepare('select id, until from nodes order by id').all()
  try {
    replica.setLeases([
      { id: 'node_1', until: 100 },
      { id: 'node_2', until: 200 },
    ])
    replica.setLease({ id: 'node_3', until: 300 })
    replica.setLeases([{ id: 'node_1', until: 150 }])
    expect(leases().map((row) => [row['id'], row['until']])).toEqual([
      ['node_1', 150],
      ['node_2', 0],
      ['node_3', 0],
    ])
  } finally {
    replica.close()
  }
})
