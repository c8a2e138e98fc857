/** The nodes of a cluster on the page and in the metrics. */
import { afterAll, expect, test } from 'vitest'
import { writeConfig } from '../kits/cluster-config.ts'
import { freshDatabase, openNode, scratch } from '../kits/cluster-lines.ts'
import { createAgent, createGates, isBlind, openPage, useSite } from '../kits/page.ts'
import { startPostgres } from '../kits/postgres.ts'

const patience = 120_000
const { newSite, newContext } = useSite(patience)
const postgres = isBlind ? null : await startPostgres()
afterAll(() => postgres?.stop())

test.skipIf(postgres === null)(
  'a cluster is shown node by node with what each runs, and one that has gone is said to be gone',
  async () => {
    const url = await freshDatabase(postgres)
    const gates = createGates()
    const other = await openNode(url, { name: 'attic', labels: ['gpu'] })
    const slow = createAgent(async (turn) => {
      await gates.wait('go', turn.signal)
      return 'done'
    })
    const site = await newSite({ slow }, { config: writeConfig(scratch(), 'cellar'), leaseMs: 1000 })
    const { page, faults } = await openPage(await newContext(), site.url)
    await site.create({ agent: 'slow', initialMessage: 'Work' })
    const table = page.getByRole('table', { name: 'Nodes' })
    await table.getByRole('row', { name: /cellar alive 1 .*127\.0\.0\.1/ }).waitFor()
    await table.getByRole('row', { name: /attic alive 0 gpu .* serves nobody/ }).waitFor()
    const metrics = await (await fetch(`${site.url}/metrics`)).text()
    expect(metrics).toMatch(/tieline_node_up\{name="attic",version="[^"]+"\} 1\n/)
    expect(metrics).toContain('tieline_node_running_turns{name="cellar"} 1\n')
    await other.close()
    await table.getByRole('row', { name: /attic gone/ }).waitFor()
    gates.open('go')
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a server that has the log to itself shows no nodes',
  async () => {
    const site = await newSite({ quick: createAgent(() => 'done') })
    const { sessionId } = await site.create({ agent: 'quick', initialMessage: 'Work' })
    await site.client.sessions.wait(sessionId)
    const asked: string[] = []
    const context = await newContext()
    context.on('request', (request) => asked.push(new URL(request.url()).pathname))
    const { page } = await openPage(context, site.url, '#/now')
    await page.getByText('Nothing runs.').waitFor()
    await expect.poll(() => asked.includes('/api/nodes')).toBe(true)
    expect(await page.getByText('Nodes', { exact: true }).count()).toBe(0)
  },
  patience,
)
