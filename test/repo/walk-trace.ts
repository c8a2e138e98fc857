/**
 * Prints the way of one `POST /api/calls`: the files on the stack when the client's turn is opened, and then
 * those on the stack when the call is.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openServer } from '../../src/open-server.ts'

Error.stackTraceLimit = 200
const root = fileURLToPath(new URL('../../', import.meta.url))
const agents = { helper: { description: 'helps', script: [{ say: 'helped' }] } }
const served = await openServer({ dataDir: mkdtempSync(join(tmpdir(), 'tieline-walk-')), port: 0, agents })

const stacks: { keys: readonly string[]; stack: string }[] = []
const { store } = served.line
const transact = store.transact.bind(store)
store.transact = (keys, work) => {
  stacks.push({ keys, stack: new Error('here').stack ?? '' })
  return transact(keys, work) as ReturnType<typeof work>
}

async function call(): Promise<void> {
  const answer = await fetch(`${served.url}/api/calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'helper', task: 'help' }),
  })
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
  await answer.text()
}

/** Outermost first, each file once in a row. */
function files(kind: 'flow:' | 'call:'): string[] {
  const found = stacks.find(({ keys }) => keys.some((key) => key.startsWith(kind)))?.stack ?? ''
  const paths = [...found.matchAll(/(?:file:\/\/)?(\/[^\s():]+\.ts):\d+/g)].map(([, path = '']) => path)
  return paths
    .filter((path) => path.startsWith(`${root}src/`))
    .map((path) => path.slice(root.length))
    .toReversed()
}

// Once before: the client's session is there then.
await call()
stacks.length = 0
await call()
const walk = [...files('flow:'), ...files('call:')]
await served.close()
console.log(JSON.stringify(walk.filter((path, index) => path !== walk[index - 1])))
