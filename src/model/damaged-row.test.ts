import { expect, test } from 'vitest'
import { DamagedRow } from './damaged-row.ts'

test('a damaged row says which one, why, whose it was, and what to run', () => {
  const cause = new Error('below')
  const fault = new DamagedRow(7, 'it is no JSON', 'flow_1', { cause })
  expect(fault.message).toBe(
    'row 7 of the log, which belongs to flow_1, cannot be read: it is no JSON. What it recorded is missing, ' +
      'and everything else goes on. Run "tieline check" to see what is wrong.',
  )
  expect([fault.name, fault.row, fault.cause]).toEqual(['DamagedRow', 7, cause])
  expect(new DamagedRow(8, 'why').message).toMatch(/^row 8 of the log cannot be read: why\. /)
})
