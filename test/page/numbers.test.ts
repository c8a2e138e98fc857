/** The numbers of the page are those of the whole log, however much of it the page has read. */
import { expect, test } from 'vitest'
import { createAgent, useSite, isBlind, openPage, type Turn } from '../kits/page.ts'

const patience = 60_000

const { newContext, newSite } = useSite(patience)

const team = {
  planner: createAgent(async (turn: Turn) => {
    await turn.tool('sub_agent', { agent_name: 'coder', task: 'a part', timeout_seconds: 50 })
    return turn.think('Done.')
  }),
  coder: createAgent((turn: Turn) => turn.think('Coded.')),
}

test.skipIf(isBlind)(
  'calls that are older than what the page has read are counted, and new ones follow',
  async () => {
    const site = await newSite(team)
    const { sessionId } = await site.create({ agent: 'planner', title: 'Old', initialMessage: 'go' })
    await site.client.sessions.wait(sessionId)
    await site.served.line.store.transact([`session:${sessionId}`], async (tx) =>
      tx.append(
        ...Array.from({ length: 11_000 }, () => ({
          type: 'notice.raised' as const,
          session: sessionId,
          turn: null,
          about: '',
          text: 'later',
        })),
      ),
    )
    const { page, faults } = await openPage(await newContext(), site.url, '#/numbers')
    const number = (name: string) => page.locator('.big-numbers div', { hasText: name }).locator('dd')
    await expect.poll(() => number('Calls').innerText(), { timeout: 20_000 }).toBe('1')
    await expect.poll(() => page.getByText('Still counting').count(), { timeout: 20_000 }).toBe(0)
    expect([
      await number('Requests').innerText(),
      await number('Turns').innerText(),
      await number('Completed').innerText(),
    ]).toEqual(['1', '2', '100 %'])
    expect(
      await page.locator('.plot', { hasText: 'How long calls take' }).getByText('coder').first().isVisible(),
    ).toBe(true)
    await site.client.sessions.send(sessionId, { message: 'again' })
    await expect.poll(() => number('Calls').innerText(), { timeout: 20_000 }).toBe('2')
    await page.getByRole('button', { name: '15 minutes' }).click()
    await page.getByText('by the minute').waitFor()
    expect(await number('Calls').innerText()).toBe('2')
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'where nothing happened yet the numbers say so',
  async () => {
    const site = await newSite(team)
    const { page } = await openPage(await newContext(), site.url, '#/numbers')
    await page.getByText('Nothing happened in this time.').waitFor()
  },
  patience,
)
