import { expect, test } from 'vitest'
import { shell } from './shell.ts'
import { answerFields, makeWorkspace } from './workspace-contract.ts'

test.each(['1', '2'])(
  'shell says that something was left out, whichever stream it was of (%s)',
  async (stream) => {
    const workspace = await makeWorkspace()
    const command = `head -c 100000 /dev/zero | tr '\\0' x >&${stream}`
    expect(answerFields(await shell.run({ command }, workspace.context()))).toMatchObject({ truncated: true })
  },
)
