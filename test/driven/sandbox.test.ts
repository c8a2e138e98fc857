/** A driven agent inside a sandbox: it reaches us, works in its directory, and keeps what is its own. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findSandbox } from '../../src/adapters/sandbox/probe.ts'
import { driveFake } from '../kits/driven.ts'

const found = await findSandbox()

test.runIf(found.kind === 'bubblewrap')('it works inside one, and calls back through it', async () => {
  const { call, directory } = await driveFake({}, { sandbox: 'required' })
  const ask = JSON.stringify({ agent_name: 'echo', task: 'from inside' })
  const answer = await call(`edit a.txt\ntool sub_agent ${ask}`, { allow_nested_calls: true })
  expect(answer).toMatchObject({ outcome: 'completed', output: expect.stringContaining('echo: from inside') })
  expect(existsSync(join(directory, 'a.txt'))).toBe(true)
})
