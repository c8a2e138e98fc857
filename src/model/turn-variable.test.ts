import { expect, test } from 'vitest'
import { isCapability, serverVariable, turnVariable } from './turn-variable.ts'

test('a token of a session or a turn is known by its beginning', () => {
  expect(['tls_a', 'tlt_a', 'tlu_a', 'xtls_', 'tls', ''].map(isCapability)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ])
})

test('what a turn starts finds its token and the server in these variables', () => {
  expect([turnVariable, serverVariable]).toEqual(['TIELINE_TOKEN', 'TIELINE_SERVER'])
})
