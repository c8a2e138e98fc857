/**
 * The process that `kill.test.ts` ends with SIGKILL: runs roots that each make four calls, on a model behind
 * HTTP, and says on stdout what was acknowledged.
 */
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tool } from '../../src/index.ts'
import { openLine } from '../../src/open-line.ts'

const [directory = '', url = '', rootsText = '0'] = process.argv.slice(2)
const roots = Number(rootsText)
const concurrency = 24

/** Changes something that cannot be changed back: each line is one effect. */
const mark: Tool = {
  name: 'mark',
  effect: 'write',
  calling: false,
  describe: () => ({ name: 'mark', description: 'Marks', input: { type: 'object', properties: {} } }),
  run: async (_input, { turn }) => {
    appendFileSync(join(directory, 'marks'), `${turn.id}\n`)
    return { ok: true, value: 'marked' }
  },
}

const config = join(directory, 'tieline.json')
process.env['FAKE_KEY'] = 'dummy'

writeFileSync(
  config,
  JSON.stringify({
    providers: { fake: { kind: 'openai-compatible', baseURL: url, apiKeyEnv: 'FAKE_KEY' } },
    agents: {
      boss: { prompt: 'You are the boss.', model: 'fake/m', tools: ['sub_agent'], allowSubAgentCalls: true },
      worker: { prompt: 'You are the worker.', model: 'fake/m', tools: ['mark'] },
    },
  }),
)

const line = await openLine({ config, dataDir: join(directory, 'data'), tools: [mark], cwd: directory })
const known = new Set(
  (await line.store.sessions({ kind: 'persistent' }, 1_000_000)).map(({ title }) => title),
)
const todo = Array.from({ length: roots }, (_, n) => `root-${n}`).filter((title) => !known.has(title))
console.log(`started ${todo.length}`)

await Promise.all(
  Array.from({ length: concurrency }, async () => {
    for (let title = todo.pop(); title !== undefined; title = todo.pop()) {
      const run = line.run('boss', `do ${title}`, { title })
      const sent = await run.accepted
      if ('code' in sent) throw new Error(sent.code)
      console.log(`acknowledged ${sent.turn}`)
      await run
    }
  }),
)
// What an earlier process left is finished by recovery, which nobody has to ask for.
for (;;) {
  const due = await line.store.due(Number.MAX_SAFE_INTEGER, 1)
  if (due.calls.length === 0 && due.turns.length === 0 && due.sessions.length === 0) break
  await new Promise((resolve) => setTimeout(resolve, 50))
}
await line.close()
console.log('finished')
